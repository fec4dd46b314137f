// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/value_range.hpp"

#include <algorithm>
#include <cmath>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/core/image/special_value.hpp"

namespace rashpa::sink {

namespace {

ValueRange range_of(PixelType pixel, std::optional<std::int64_t> largest_count) noexcept {
  if (largest_count && pixel != PixelType::f32) {
    const bool is_signed = pixel == PixelType::i16 || pixel == PixelType::i32;
    return {0, std::min(*largest_count, largest_value(pixel) - (is_signed ? 0 : 1))};
  }
  switch (pixel) {
    case PixelType::i16:
      return {kMaskedPhotons + 1, kSaturatedPhotons - 1};
    case PixelType::i32:
      return {std::int64_t{INT32_MIN} + 1, INT32_MAX};
    case PixelType::u8:
      return {0, UINT8_MAX - 1};
    case PixelType::u16:
      return {0, kLostRaw - 1};
    case PixelType::u32:
      return {0, std::int64_t{UINT32_MAX} - 1};
    case PixelType::f32:
      break;
  }
  return {};
}

}  // namespace

ValueRange value_range(PixelType pixel, std::optional<std::int64_t> largest_count, double saturation) noexcept {
  ValueRange range = range_of(pixel, largest_count);
  if (saturation > 0) range.most = std::llround(saturation);
  return range;
}

}  // namespace rashpa::sink
