// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rashpa/sink/hdf5_config.hpp"

namespace rashpa::sink {

/// The names of a run's files, and the right to use them. New files are named <file>.new until begin(); nothing of an
/// earlier run is touched before, and nothing of a run that never begins stays.
///
/// The journal is locked for as long as this object lives: a locked one says that some process still writes the run; an
/// unlocked one beside a master, that its process ended before it could complete it.
class OutputFiles {
 public:
  /// Throws FileError: no folder, no right to write, files of an earlier run (Existing::refuse), or of a living one.
  explicit OutputFiles(const Hdf5Config& config);
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  /// Throws FileError when the files cannot be renamed.
  void begin();
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  /// Files that were made since then keep their names after a loss of power.
  void sync_names() const;
  /// The master is complete: removes the journal.
  void complete() noexcept;

  [[nodiscard]] int journal() const noexcept { return journal_; }    ///< its file descriptor, empty at first
  [[nodiscard]] std::string sink() const { return sink_of(form_); }  ///< as messages begin
  [[nodiscard]] const std::filesystem::path& prefix() const noexcept { return prefix_; }
  /// Returns where these are now.
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
  /// The path of the master of raw files as it was before it was completed, from which `rashpa convert` makes another.
  [[nodiscard]] static std::filesystem::path facts_path(const std::filesystem::path& prefix);
  /// The path of data file `number`, counted from 1.
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

/// Opens and locks a journal. −1 when there is none; throws FileError, which begins with `who`, when it is no regular
/// file, or somebody writes the run it belongs to.
int lock_journal_of(const std::filesystem::path& prefix, const std::string& who);

}  // namespace rashpa::sink
