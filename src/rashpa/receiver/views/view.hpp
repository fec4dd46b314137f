// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A part of an image as a viewer sees it: coarse, with a mark on pixels that have no value.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::receiver {

/// A rectangle of an image in memory. `pixels` and `gaps` point to its first pixel; `pitch`: pixels from one row to the
/// next, in both. `gaps` has one byte a pixel, not 0 where no module is; it may be null.
struct Seen {
  const std::byte* pixels = nullptr;
  const std::uint8_t* gaps = nullptr;
  std::size_t pitch = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
};

/// Describes which values are no measurement. Of floats NaN, of unsigned integers the largest are none in any case. Of
/// signed integers the negative ones, or the least alone.
struct NoValue {
  enum class Signed : std::uint8_t { least, negative };
  Signed of_signed = Signed::least;
  std::span<const double> special{};
};

/// The type of a view of such pixels: 8 and 16 bits stay or become 16, all others become floats.
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

/// The largest value of each block of `step` × `step` pixels, row after row, of type view_pixel(); blocks at the right
/// and at the bottom may be smaller. A block of which no pixel has a value is 65535, -32768, or NaN.
std::vector<std::byte> view_of(const Seen& seen, const NoValue& none, std::uint32_t step);

}  // namespace rashpa::receiver
