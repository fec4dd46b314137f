// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "rashpa/core/image/placement.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/core/image/runs.hpp"
#include "rashpa/link/link.hpp"

namespace rashpa::transfer {

/// Makes the buffer descriptors of one DTP, image by image and only for the requested batch. Consecutive lines that are
/// contiguous on both sides are merged into one run of whole lines, up to `largest_message`. A longer line is cut into
/// pieces of `largest_message` bytes.
class DescriptorGenerator {
 public:
  /// Creates the generator. `pitch_bytes` is the distance between lines of the module's frame, `pixel_bytes` the size
  /// of a pixel.
  DescriptorGenerator(const Region& region, std::uint64_t pitch_bytes, std::uint32_t pixel_bytes,
                      const Placement& placement, std::uint32_t largest_message);

  /// Starts image `index`, whose module frame begins at `frame`, at line `line`.
  void begin(const std::byte* frame, std::uint64_t index, std::uint32_t line = 0) noexcept;
  /// Ends the current image before line `line`, a later one at each call; begin() ends it with its last line.
  void end_at(std::uint32_t line) noexcept { end_line_ = line; }
  /// Fills `batch` with the next descriptors; returns their number, 0 when the image, or the part up to end_at(),
  /// is done.
  std::size_t next(std::span<link::BufferDescriptor> batch) noexcept;
  /// Returns the number of descriptors of one image.
  [[nodiscard]] std::uint64_t per_image() const noexcept;

  /// Returns the first byte of line `line` of the current image in source memory.
  [[nodiscard]] const std::byte* line(std::uint32_t line) const noexcept { return source_ + line * pitch_; }

 private:
  Placement placement_;
  std::uint64_t pitch_;
  std::uint64_t origin_;  // of the region in the frame, bytes
  Runs runs_{};
  const std::byte* source_ = nullptr;
  std::uint64_t destination_ = 0;
  std::uint32_t next_line_ = 0;
  std::uint32_t end_line_ = 0;
  std::uint32_t next_byte_ = 0;
};

}  // namespace rashpa::transfer
