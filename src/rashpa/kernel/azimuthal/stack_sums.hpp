// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::azimuthal {

/// Integer sums of many images at once, of one thread: 32-bit numbers of 16 images side by side, so that a pixel of all
/// of them is added by vectors. All memory is taken when it is made.
class StackSums {
 public:
  static constexpr std::size_t kTogether = 16;  ///< images of a row
  static constexpr std::size_t kFewest = 4;     ///< images from which on that is faster than one by one

  /// Throws ResourceError when there is no memory.
  StackSums(const Prepared& prepared, PixelFormat format, std::size_t images);
  /// Returns true when it takes such images: integers of few bins, not Errors::azimuthal.
  static bool takes(const Prepared& prepared, PixelFormat format) noexcept;

  /// Adds pixels [first, last) of `count` images, each beginning at its pixel 0. Counts without room here, masked
  /// pixels, and the last images of a stack where they are too few, go into `sums`, one an image, by `scratch`.
  void add(const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last, Scratch& scratch,
           Sums* sums) noexcept;
  /// Moves all into `sums`.
  void flush(Sums* sums, std::size_t count) noexcept;

  [[nodiscard]] const Prepared& prepared() const noexcept { return *prepared_; }
  [[nodiscard]] PixelFormat format() const noexcept { return format_; }
  /// The length of a bin's row: kTogether signals; with Errors::poisson as many variances follow.
  [[nodiscard]] std::size_t row() const noexcept { return row_; }
  [[nodiscard]] std::uint32_t* rows(std::size_t chunk) noexcept {
    return reinterpret_cast<std::uint32_t*>(rows_.data()) + chunk * chunk_;
  }
  /// Returns true when there is room in all sums of a chunk for `most` more; takes it.
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

/// The vector form of StackSums::add: up to kTogether images, pixels [first, last) of whole blocks.
void add_together(StackSums& stack, std::size_t chunk, const std::byte* const* images, std::size_t count,
                  std::size_t first, std::size_t last, Sums* sums) noexcept;

/// Returns true when so many pixels of [first, last), whole blocks, are not 0 that this is faster than one by
/// one.
bool is_dense(PixelFormat format, const std::byte* const* images, std::size_t count, std::size_t first,
              std::size_t last) noexcept;

}  // namespace rashpa::kernel::azimuthal
