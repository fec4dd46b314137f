// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A file of images without HDF5: kRawHeader bytes, then slots of equal length for images. The journal has the facts of
/// the images and their slots (docs/reference/raw_files.md).
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/raw/block_writer.hpp"

namespace rashpa::sink {

inline constexpr std::size_t kRawHeader = kBlockAlignment;

/// The header of each raw file.
struct RawHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  std::uint32_t number = 1;  ///< number of the file, from 1
  std::uint32_t slots = 0;   ///< number of images for which there is room

  [[nodiscard]] std::uint64_t image_bytes() const noexcept {
    return std::uint64_t{width} * height * pixel_bytes(pixel);
  }
  /// Returns the bytes from one image to the next.
  [[nodiscard]] std::uint64_t stride() const noexcept {
    return (image_bytes() + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t slot) const noexcept { return kRawHeader + slot * stride(); }
  friend bool operator==(const RawHeader&, const RawHeader&) = default;
};

/// Writes the header's bytes; the rest of the block becomes 0.
void encode(const RawHeader& header, std::span<std::byte, kRawHeader> out) noexcept;
/// Reads untrusted bytes; returns nothing when they are no such header, of another version, or damaged.
std::optional<RawHeader> decode_raw_header(std::span<const std::byte> bytes) noexcept;

/// Reads images of an untrusted raw file.
class RawFile {
 public:
  /// Opens the file. Throws FileError when there is none, or it does not belong to `run`.
  RawFile(const std::filesystem::path& path, const JournalHeader& run);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;
  /// Reads the image at `place` into `out`, which has its length. Returns false when its bytes are not in the file, or
  /// were changed.
  [[nodiscard]] bool read(const RawPlace& place, std::span<std::byte> out) const noexcept;

 private:
  int file_;
};

}  // namespace rashpa::sink
