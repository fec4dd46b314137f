// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {

/// Holds the lock of a run's journal, of which nobody writes the run then.
class JournalLock {
 public:
  /// Throws FileError, which begins with `who`, when somebody does.
  JournalLock(const std::filesystem::path& prefix, const std::string& who) : file_(lock_journal_of(prefix, who)) {}
  ~JournalLock() {
    if (file_ >= 0) ::close(file_);
  }
  JournalLock(const JournalLock&) = delete;
  JournalLock& operator=(const JournalLock&) = delete;
  /// −1: there is no journal.
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_;
};

}  // namespace rashpa::sink
