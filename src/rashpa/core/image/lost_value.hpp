// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa {

/// Returns the bits of a lost pixel of any type: the maximum of unsigned types, the minimum of signed ones, NaN for
/// floats.
constexpr std::uint32_t lost_bits(PixelType type) noexcept {
  switch (type) {
    case PixelType::u8:
      return std::numeric_limits<std::uint8_t>::max();
    case PixelType::u16:
      return kLostRaw;
    case PixelType::u32:
      return std::numeric_limits<std::uint32_t>::max();
    case PixelType::i16:
      return static_cast<std::uint16_t>(std::numeric_limits<std::int16_t>::min());
    case PixelType::i32:
      return static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::min());
    case PixelType::f32:
      break;
  }
  return std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
}

}  // namespace rashpa
