// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/hdf5/hdf5_pixel.hpp"

#include <bit>
#include <limits>

#include "rashpa/core/image/fill.hpp"

namespace rashpa::sink::h5 {

hid_t native_of(PixelType pixel) {
  switch (pixel) {
    case PixelType::u8:
      return native<std::uint8_t>();
    case PixelType::u16:
      return native<std::uint16_t>();
    case PixelType::u32:
      return native<std::uint32_t>();
    case PixelType::i16:
      return native<std::int16_t>();
    case PixelType::i32:
      return native<std::int32_t>();
    default:
      return native<float>();
  }
}

std::uint32_t fill_bits(PixelType pixel) {
  switch (pixel) {
    case PixelType::u8:
      return UINT8_MAX;
    case PixelType::u16:
      return kLostRaw;
    case PixelType::u32:
      return UINT32_MAX;
    case PixelType::i16:
      return static_cast<std::uint16_t>(kMaskedPhotons);
    case PixelType::i32:
      return static_cast<std::uint32_t>(INT32_MIN);
    default:
      return std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace rashpa::sink::h5
