// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Values by which a detector says that a pixel holds no count: gaps, dead pixels, counters that are full.
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa {

/// The meaning of a special value. All but `saturated` are lasting properties of a pixel.
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

/// The bit of NXmx pixel_mask; 0 for a value that is no property of the pixel.
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

/// The name that run files use: "gap", "under_responding", …
std::string_view name_of(Meaning meaning) noexcept;
/// Throws ConfigError that lists the meanings when `name` is none of them.
Meaning meaning_of(std::string_view name);

struct SpecialValue {
  std::int64_t value = 0;
  Meaning meaning = Meaning::gap;
  friend bool operator==(const SpecialValue&, const SpecialValue&) = default;
};

/// The largest value of an integer type.
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

/// No value of the detector's own ends its counts: they go as far as the type allows.
inline constexpr std::int64_t kNoLargestCount = std::numeric_limits<std::int64_t>::max();

/// Returns where counts end: below the smallest special value that is not negative. A negative value is never a count.
/// Throws ConfigError when pixels of the type cannot hold a value, when one is there twice, or when it is 0.
std::int64_t largest_count_of(PixelType type, std::span<const SpecialValue> special);

/// The mask of one image: the bits of its special values, or-ed into `mask`, one value a pixel. The type is an integer.
void mark_special(PixelType type, std::span<const SpecialValue> special, const void* pixels,
                  std::span<std::uint32_t> mask) noexcept;

}  // namespace rashpa
