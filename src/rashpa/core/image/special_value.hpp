// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pixel values by which a detector marks pixels without a count: gaps, dead pixels, full counters.
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa {

/// The meaning of a special value. All but `saturated` are permanent properties of a pixel.
enum class Meaning : std::uint8_t {
  gap,               ///< there is no sensor
  dead,              ///< the pixel never counts
  under_responding,  ///< it counts too little
  over_responding,   ///< it counts too much
  noisy,
  cluster,    ///< it lies in a cluster of problematic pixels
  user,       ///< masked at the detector's set-up
  saturated,  ///< there were more counts than the pixel can hold
};

/// Returns the bit in NXmx pixel_mask; 0 for `saturated`, which is no property of the pixel.
constexpr std::uint32_t mask_bit(Meaning meaning) noexcept {
  switch (meaning) {
    case Meaning::gap:
      return 1U << 0U;
    case Meaning::dead:
      return 1U << 1U;
    case Meaning::under_responding:
      return 1U << 2U;
    case Meaning::over_responding:
      return 1U << 3U;
    case Meaning::noisy:
      return 1U << 4U;
    case Meaning::cluster:
      return 1U << 6U;
    case Meaning::user:
      return 1U << 8U;
    case Meaning::saturated:
      break;
  }
  return 0;
}

/// Returns the name that run files use: "gap", "under_responding", …
std::string_view name_of(Meaning meaning) noexcept;
/// Returns the meaning with that name. Throws ConfigError with a list of all names when there is none.
Meaning meaning_of(std::string_view name);

struct SpecialValue {
  std::int64_t value = 0;
  Meaning meaning = Meaning::gap;
  friend bool operator==(const SpecialValue&, const SpecialValue&) = default;
};

/// Returns the largest value of an integer type.
constexpr std::int64_t largest_value(PixelType type) noexcept {
  switch (type) {
    case PixelType::u8:
      return std::numeric_limits<std::uint8_t>::max();
    case PixelType::u16:
      return std::numeric_limits<std::uint16_t>::max();
    case PixelType::u32:
      return std::numeric_limits<std::uint32_t>::max();
    case PixelType::i16:
      return std::numeric_limits<std::int16_t>::max();
    default:
      return std::numeric_limits<std::int32_t>::max();
  }
}

/// The largest count of a detector without special values: counts go up to the limit of the type.
inline constexpr std::int64_t kNoLargestCount = std::numeric_limits<std::int64_t>::max();

/// Returns the largest count: one below the smallest special value that is not negative. A negative value is never a
/// count. Throws ConfigError when pixels of the type cannot hold a special value, or when one is 0 or occurs twice.
std::int64_t largest_count_of(PixelType type, std::span<const SpecialValue> special);

/// Adds the mask bits of an image's special values to `mask`, one value a pixel, by OR. `type` is an integer type.
void mark_special(PixelType type, std::span<const SpecialValue> special, const void* pixels,
                  std::span<std::uint32_t> mask) noexcept;

}  // namespace rashpa
