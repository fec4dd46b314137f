// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>

#include "rashpa/sink/raw/raw_file.hpp"

namespace rashpa::sink {

/// One raw file being written: created with room for all its images, and written past the page cache where the file
/// system allows it.
class RawPart {
 public:
  /// Creates the file. Throws FileError, also when the file exists or there is no room.
  RawPart(const std::filesystem::path& path, const RawHeader& header);
  ~RawPart();
  RawPart(RawPart&& other) noexcept;
  RawPart& operator=(RawPart&&) = delete;

  [[nodiscard]] int file() const noexcept { return file_; }
  [[nodiscard]] bool open() const noexcept { return file_ >= 0; }
  [[nodiscard]] const RawHeader& header() const noexcept { return header_; }
  /// Returns why the file is not written past the page cache, or its room was not reserved at once; empty: both work.
  [[nodiscard]] const std::string& remark() const noexcept { return remark_; }
  /// Returns the alignment of data addresses.
  [[nodiscard]] std::size_t memory_alignment() const noexcept { return memory_alignment_; }
  /// Returns true when the file at `path` is this file.
  [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept;
  /// Frees the room behind its first `images` images and closes it. Returns an empty text, or the reason of a failure.
  std::string close(std::uint64_t images) noexcept;

  // Of its images, in slots from 0. The store counts.
  std::uint64_t count = 0;    ///< slots given to images
  std::uint64_t synced = 0;   ///< slots before it are on the device, and so are their rows
  std::uint64_t stored = 0;   ///< stored images among them
  std::uint64_t syncing = 0;  ///< value of `synced` when the sync in flight succeeds
  std::string lost{};         ///< reason why images from `synced` on are lost

 private:
  void write_header();
  int file_ = -1;
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;
  RawHeader header_;
  std::size_t memory_alignment_ = kBlockAlignment;
  std::string remark_;
};

}  // namespace rashpa::sink
