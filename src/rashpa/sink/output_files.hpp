// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rashpa/sink/hdf5_config.hpp"

namespace rashpa::sink {

/// The names of a run's files, and the right to use them. New files are named <file>.new until begin(), so files of an
/// earlier run stay untouched, and no files of a run remain that never begins.
/// The journal is locked as long as this object lives. A locked journal means that a process still writes the run. An
/// unlocked journal beside a master means that its process ended before it could complete the master.
class OutputFiles {
 public:
  /// Reserves the names. Throws FileError when there is no folder, no write permission, or files of an earlier run
  /// (Existing::refuse) or of an active one.
  explicit OutputFiles(const Hdf5Config& config);
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  /// Renames the files to their final names. Throws FileError when that fails.
  void begin();
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  /// Flushes the names of files made since then, so that they survive a loss of power.
  void sync_names() const;
  /// Removes the journal, because the master is complete.
  void complete() noexcept;

  /// file descriptor of the journal, which is empty at first
  [[nodiscard]] int journal() const noexcept { return journal_; }
  [[nodiscard]] std::string sink() const { return sink_of(form_); }  ///< prefix of messages
  [[nodiscard]] const std::filesystem::path& prefix() const noexcept { return prefix_; }
  /// Returns the present path of the master; data(), tables() and accumulated() return those of other files.
  [[nodiscard]] std::filesystem::path master() const { return now(master_path(prefix_)); }
  [[nodiscard]] std::filesystem::path data(std::uint64_t number) const {
    return now(data_path(prefix_, number, form_));
  }
  [[nodiscard]] std::filesystem::path tables() const { return now(tables_path(prefix_)); }
  [[nodiscard]] std::filesystem::path accumulated() const { return now(accumulated_path(prefix_)); }

  [[nodiscard]] static std::filesystem::path accumulated_path(const std::filesystem::path& prefix);
  [[nodiscard]] static std::filesystem::path tables_path(const std::filesystem::path& prefix);
  [[nodiscard]] static std::filesystem::path master_path(const std::filesystem::path& prefix);
  [[nodiscard]] static std::filesystem::path journal_path(const std::filesystem::path& prefix);
  /// Returns the path of the uncompleted master of raw files, from which `rashpa convert` makes another master.
  [[nodiscard]] static std::filesystem::path facts_path(const std::filesystem::path& prefix);
  /// Returns the path of data file `number`, counted from 1.
  [[nodiscard]] static std::filesystem::path data_path(const std::filesystem::path& prefix, std::uint64_t number,
                                                       ImageForm form = ImageForm::dense);

 private:
  [[nodiscard]] std::filesystem::path now(const std::filesystem::path& path) const;
  void refuse_what_is_there() const;
  void sync_beginning() const;
  void take_place(const std::filesystem::path& path, std::vector<std::filesystem::path>& placed) const;
  void lock_journal();

  std::filesystem::path prefix_;
  Existing existing_;
  ImageForm form_;
  std::filesystem::path journal_name_;    // made once: complete() has no memory to ask for
  std::filesystem::path staged_journal_;  // its name before begin()
  int journal_ = -1;
  bool begun_ = false;
};

/// Opens and locks a journal; returns its descriptor, or −1 when there is none. Throws FileError, which begins with
/// `who`, when it is no regular file, or a process writes its run.
int lock_journal_of(const std::filesystem::path& prefix, const std::string& who);

}  // namespace rashpa::sink
