// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>

#include "rashpa/sink/raw/raw_file.hpp"

namespace rashpa::sink {

/// One raw file that is being written: made with room for all its images, past the page cache where the file system
/// allows it.
class RawPart {
 public:
  /// Throws FileError, also when the file exists or there is no room.
  RawPart(const std::filesystem::path& path, const RawHeader& header);
  ~RawPart();
  RawPart(RawPart&& other) noexcept;
  RawPart& operator=(RawPart&&) = delete;

  [[nodiscard]] int file() const noexcept { return file_; }
  [[nodiscard]] bool open() const noexcept { return file_ >= 0; }
  [[nodiscard]] const RawHeader& header() const noexcept { return header_; }
  /// Why it is not written past the page cache, or its room was not taken at once; empty: it is as it should be.
  [[nodiscard]] const std::string& remark() const noexcept { return remark_; }
  /// The alignment of addresses of data.
  [[nodiscard]] std::size_t memory_alignment() const noexcept { return memory_alignment_; }
  /// Returns true when the file at `path` is this one.
  [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept;
  /// Gives back the room behind its first `images` images and closes it; empty, or why that failed.
  std::string close(std::uint64_t images) noexcept;

  // Of its images, in slots from 0. The store counts.
  std::uint64_t count = 0;    ///< slots that were given away
  std::uint64_t synced = 0;   ///< those before are on the device, and so are their rows
  std::uint64_t stored = 0;   ///< images in those
  std::uint64_t syncing = 0;  ///< will be, when the sync that is on its way ends well
  std::string lost{};         ///< why images from `synced` on are not there

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
