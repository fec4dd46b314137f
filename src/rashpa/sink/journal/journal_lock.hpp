// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {

/// Holds the lock of a run's journal, so that no other process writes the run.
class JournalLock {
 public:
  /// Takes the lock. Throws FileError, which begins with `who`, when a process writes the run.
  JournalLock(const std::filesystem::path& prefix, const std::string& who) : file_(lock_journal_of(prefix, who)) {}
  ~JournalLock() {
    if (file_ >= 0) ::close(file_);
  }
  JournalLock(const JournalLock&) = delete;
  JournalLock& operator=(const JournalLock&) = delete;
  /// Returns the file descriptor; −1: there is no journal.
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_;
};

}  // namespace rashpa::sink
