// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::azimuthal {

/// Integer sums of many images at once, in one thread: 32-bit sums of 16 images lie side by side, so that a vector adds
/// one pixel of all. The constructor takes all memory.
class StackSums {
 public:
  static constexpr std::size_t kTogether = 16;  ///< images of a row, summed side by side
  static constexpr std::size_t kFewest = 4;     ///< fewest images for which this is faster than one image at a time

  /// Takes the memory. Throws ResourceError when there is none.
  StackSums(const Prepared& prepared, PixelFormat format, std::size_t images);
  /// Returns true for images that this class supports: integers with few bins, without Errors::azimuthal.
  static bool takes(const Prepared& prepared, PixelFormat format) noexcept;

  /// Adds pixels [first, last) of `count` images, each beginning at its pixel 0. Counts without room in the 32-bit
  /// sums, masked pixels, and the last images of a stack if they are too few go into `sums`, one for each image, by
  /// `scratch`.
  void add(const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last, Scratch& scratch,
           Sums* sums) noexcept;
  /// Moves all sums into `sums`.
  void flush(Sums* sums, std::size_t count) noexcept;

  [[nodiscard]] const Prepared& prepared() const noexcept { return *prepared_; }
  [[nodiscard]] PixelFormat format() const noexcept { return format_; }
  /// Returns the length of a bin's row: kTogether signals, followed with Errors::poisson by the same number of
  /// variances.
  [[nodiscard]] std::size_t row() const noexcept { return row_; }
  [[nodiscard]] std::uint32_t* rows(std::size_t chunk) noexcept {
    return reinterpret_cast<std::uint32_t*>(rows_.data()) + chunk * chunk_;
  }
  /// Reserves room for `most` more in all sums of a chunk; returns false when there is too little.
  bool take_room(std::size_t chunk, std::uint64_t most) noexcept {
    if (room_[chunk] < most) return false;
    room_[chunk] -= most;
    return true;
  }
  void flush_chunk(std::size_t chunk, Sums* sums, std::size_t count) noexcept;

 private:
  const Prepared* prepared_;
  PixelFormat format_;
  std::size_t row_;
  std::size_t chunk_;  // numbers from a chunk of images to the next
  memory::Buffer rows_;
  std::vector<std::uint64_t> room_;  // by chunk
  std::uint64_t all_room_;
};

/// Does StackSums::add by vectors for up to kTogether images and whole blocks of pixels [first, last).
void add_together(StackSums& stack, std::size_t chunk, const std::byte* const* images, std::size_t count,
                  std::size_t first, std::size_t last, Sums* sums) noexcept;

/// Returns true when enough pixels of [first, last), whole blocks, differ from 0 to make this faster than one image at
/// a time.
bool is_dense(PixelFormat format, const std::byte* const* images, std::size_t count, std::size_t first,
              std::size_t last) noexcept;

}  // namespace rashpa::kernel::azimuthal
