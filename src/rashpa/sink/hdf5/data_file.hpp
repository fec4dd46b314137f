// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>

#include "rashpa/sink/hdf5/hdf5_io.hpp"

namespace rashpa::sink {

/// One HDF5 file that grows while readers follow it (SWMR), with a check that it is still the file at its path. The
/// sink's thread uses it.
class DataFile {
 public:
  /// Creates the file. Throws FileError, also when it exists.
  explicit DataFile(const std::filesystem::path& path);
  /// Closes the file; discard() removes it instead.
  ~DataFile() = default;
  DataFile(DataFile&&) = default;
  DataFile& operator=(DataFile&&) = default;

  [[nodiscard]] hid_t get() const noexcept { return file_.get(); }
  [[nodiscard]] bool open() const noexcept { return file_.valid(); }
  /// Lets readers follow the file from now on; create all objects before. Throws FileError.
  void follow();
  [[nodiscard]] bool flush() noexcept;
  /// Closes the file; returns false when data could not be written.
  bool close() noexcept { return file_.close(); }
  /// Closes and removes a file without content.
  void discard(const std::filesystem::path& path) noexcept;

  /// Returns true when the file at `path` is this file.
  [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept;

 private:
  h5::Handle file_;
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;
};

/// Returns the message about a file for which is_at() is false.
std::string says_gone(const std::filesystem::path& path);

/// Flushes a file to the disk. Returns the system's reason when that failed, else an empty text.
std::string sync_to_disk(const std::filesystem::path& path);

/// Opens a data file for reading as another process would see it, without bytes that only this process has in memory.
/// Throws FileError.
h5::Handle open_afresh(const std::filesystem::path& path);

/// Returns true when `path` is a regular file. Throws RefusedError when the system refuses access.
bool is_there(const std::filesystem::path& path);

/// Makes a file whose writer was killed possible to open. Throws FileError when it is damaged, RefusedError when the
/// system refuses to open it.
void let_be_opened(const std::filesystem::path& path);

/// Lets all programs open a closed file. A file that the library could not close properly is marked as being written,
/// and plain readers refuse it. Returns the reason when the mark stays or the file is gone, else an empty text.
std::string lift_mark(const std::filesystem::path& path);

/// Brings a file to the disk, as sync_to_disk(). Returns a message with the file and the reason when that failed, else
/// empty.
std::string bring_file_to_disk(const std::filesystem::path& path);

/// Lifts the mark of a closed file, then brings the file to the disk. Returns the message of the first that failed,
/// else empty.
std::string complete_on_disk(const std::filesystem::path& path);

/// Returns how many elements along the first dimension of `dataset` are in chunks that are completely in the file, up
/// to the first incomplete chunk. Returns 0 when the file cannot be read.
std::uint64_t readable(const std::filesystem::path& path, const char* dataset);
/// Returns the number of readable(), but throws RefusedError, or std::bad_alloc, when the file could not be examined.
std::uint64_t readable_unless_refused(const std::filesystem::path& path, const char* dataset);

}  // namespace rashpa::sink
