// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>

#include "rashpa/sink/hdf5/hdf5_io.hpp"

namespace rashpa::sink {

/// One HDF5 file that grows while readers follow it (SWMR), and the check that it is still the one at its path. Used by
/// the sink's thread.
class DataFile {
 public:
  /// Creates it; throws FileError, also when it exists.
  explicit DataFile(const std::filesystem::path& path);
  /// Closes it; see discard().
  ~DataFile() = default;
  DataFile(DataFile&&) = default;
  DataFile& operator=(DataFile&&) = default;

  [[nodiscard]] hid_t get() const noexcept { return file_.get(); }
  [[nodiscard]] bool open() const noexcept { return file_.valid(); }
  /// Lets readers follow the file from here on; all objects are made before. Throws FileError.
  void follow();
  [[nodiscard]] bool flush() noexcept;
  /// Returns false when something could not be written.
  bool close() noexcept { return file_.close(); }
  /// Closes and removes a file to which nothing was written.
  void discard(const std::filesystem::path& path) noexcept;

  /// Returns true when the file at `path` is this one.
  [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept;

 private:
  h5::Handle file_;
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;
};

/// The message about a file that is_at() does not find.
std::string says_gone(const std::filesystem::path& path);

/// Brings a file to the disk; the system's reason when that failed, else empty.
std::string sync_to_disk(const std::filesystem::path& path);

/// Opens a data file for reading as another process would find it: bytes that this process still holds in memory are
/// not seen. Throws FileError.
h5::Handle open_afresh(const std::filesystem::path& path);

/// Returns true when a regular file is there. Throws RefusedError when the system does not say.
bool is_there(const std::filesystem::path& path);

/// Makes a file that can be opened of one whose writer was killed. Throws FileError when it is damaged, RefusedError
/// when the system does not let it be opened.
void let_be_opened(const std::filesystem::path& path);

/// Lets every program open a closed file: one that the library could not close well is marked as being written, and
/// plain readers refuse it. Returns the reason when the mark stays, else empty.
std::string lift_mark(const std::filesystem::path& path);

/// Returns how many elements along the first dimension of `dataset` lie in chunks that are wholly in the file, counted
/// until the first that is not. 0 when the file cannot be read.
std::uint64_t readable(const std::filesystem::path& path, const char* dataset);
/// The same; throws RefusedError, or std::bad_alloc, where nothing is known of the file.
std::uint64_t readable_unless_refused(const std::filesystem::path& path, const char* dataset);

}  // namespace rashpa::sink
