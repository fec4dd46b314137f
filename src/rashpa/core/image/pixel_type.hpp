// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace rashpa {

/// The type of one pixel in memory and on the wire, little endian.
enum class PixelType : std::uint8_t { u8, u16, u32, i16, i32, f32 };

/// Returns the bytes of one pixel.
constexpr std::uint32_t pixel_bytes(PixelType type) noexcept {
  switch (type) {
    case PixelType::u8:
      return 1;
    case PixelType::u16:
    case PixelType::i16:
      return 2;
    default:
      return 4;
  }
}

/// Returns the NumPy name of the type: "uint16", "float32", …
constexpr std::string_view pixel_name(PixelType type) noexcept {
  switch (type) {
    case PixelType::u8:
      return "uint8";
    case PixelType::u16:
      return "uint16";
    case PixelType::u32:
      return "uint32";
    case PixelType::i16:
      return "int16";
    case PixelType::i32:
      return "int32";
    default:
      return "float32";
  }
}

}  // namespace rashpa
