// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A coarse part of an image for a viewer, in which pixels without a value are marked.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::receiver {

/// A rectangle of an image in memory. `pixels` and `gaps` point to its first pixel; `pitch` is the pixels from one row
/// to the next in both. `gaps` has one byte a pixel, not 0 where there is no module; it may be null.
struct Seen {
  const std::byte* pixels = nullptr;
  const std::uint8_t* gaps = nullptr;
  std::size_t pitch = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
};

/// The values that are no measurement: for floats NaN, for unsigned integers the largest. For signed integers either
/// all negative values, or only the smallest.
struct NoValue {
  enum class Signed : std::uint8_t { least, negative };
  Signed of_signed = Signed::least;
  std::span<const double> special{};
};

/// Returns the pixel type of a view: 16 bits for pixels of 8 and 16 bits, float for all others.
constexpr PixelType view_pixel(PixelType pixel) noexcept {
  switch (pixel) {
    case PixelType::u8:
    case PixelType::u16:
      return PixelType::u16;
    case PixelType::i16:
      return PixelType::i16;
    default:
      return PixelType::f32;
  }
}

/// Returns the largest value of each block of `step` × `step` pixels, row after row, of type view_pixel(). Blocks at
/// the right and the bottom may be smaller. A block without a valid pixel is 65535, -32768, or NaN.
std::vector<std::byte> view_of(const Seen& seen, const NoValue& none, std::uint32_t step);

}  // namespace rashpa::receiver
