// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/image/special_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "rashpa/core/error.hpp"

namespace rashpa {
namespace {

/// Names in the order of Meaning.
constexpr std::array<std::string_view, 8> kMeanings{"gap",     "dead", "under_responding", "over_responding", "noisy",
                                                    "cluster", "user", "saturated"};

std::int64_t smallest_value(PixelType type) noexcept {
  const bool is_signed = type == PixelType::i16 || type == PixelType::i32;
  return is_signed ? -largest_value(type) - 1 : 0;
}

template <typename T>
void mark(std::span<const SpecialValue> special, const T* pixels, std::span<std::uint32_t> mask) noexcept {
  for (std::size_t i = 0; i < mask.size(); ++i) {
    for (const SpecialValue& one : special) {
      if (static_cast<std::int64_t>(pixels[i]) == one.value) mask[i] |= mask_bit(one.meaning);
    }
  }
}

}  // namespace

std::string_view name_of(Meaning meaning) noexcept { return kMeanings[static_cast<std::size_t>(meaning)]; }

Meaning meaning_of(std::string_view name) {
  for (std::size_t i = 0; i < kMeanings.size(); ++i) {
    if (kMeanings[i] == name) return static_cast<Meaning>(i);
  }
  throw ConfigError(
      fmt::format("no meaning '{}' of a special value; choose one of {}", name, fmt::join(kMeanings, ", ")));
}

std::int64_t largest_count_of(PixelType type, std::span<const SpecialValue> special) {
  std::int64_t largest = kNoLargestCount;
  for (const SpecialValue& one : special) {
    const auto refuse = [&](const std::string& why) {
      throw ConfigError(fmt::format("special value {}: {}", one.value, why));
    };
    if (type == PixelType::f32) refuse("float32 pixels that hold no measurement are NaN; leave special values out");
    if (one.value < smallest_value(type) || one.value > largest_value(type)) {
      refuse(fmt::format("{} pixels hold {} to {}; give a value between them", pixel_name(type), smallest_value(type),
                         largest_value(type)));
    }
    if (one.value == 0) refuse("a pixel without photons counts 0; name the value that the detector sends");
    if (std::count_if(special.begin(), special.end(), [&](const auto& other) { return other.value == one.value; }) > 1)
      refuse("it is there twice; leave one out");
    if (one.value > 0) largest = std::min(largest, one.value - 1);
  }
  return largest;
}

void mark_special(PixelType type, std::span<const SpecialValue> special, const void* pixels,
                  std::span<std::uint32_t> mask) noexcept {
  switch (type) {
    case PixelType::u8:
      return mark(special, static_cast<const std::uint8_t*>(pixels), mask);
    case PixelType::u16:
      return mark(special, static_cast<const std::uint16_t*>(pixels), mask);
    case PixelType::u32:
      return mark(special, static_cast<const std::uint32_t*>(pixels), mask);
    case PixelType::i16:
      return mark(special, static_cast<const std::int16_t*>(pixels), mask);
    default:
      return mark(special, static_cast<const std::int32_t*>(pixels), mask);
  }
}

}  // namespace rashpa
