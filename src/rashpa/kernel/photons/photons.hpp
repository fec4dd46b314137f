// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Photon images of any integer type: the function for each type, and the values that a threshold selects.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel {

/// Calls `work` with a value of the integer type: with_type(PixelType::u8, [](auto zero) { using T = decltype(zero);
/// }).
template <typename Work>
constexpr auto with_type(PixelType type, Work work) {
  switch (type) {
    case PixelType::u8:
      return work(std::uint8_t{});
    case PixelType::u16:
      return work(std::uint16_t{});
    case PixelType::u32:
      return work(std::uint32_t{});
    case PixelType::i16:
      return work(std::int16_t{});
    default:
      return work(std::int32_t{});
  }
}

/// Returns the format of the pixels. Without `masked`, pixels are masked as detectors deliver them. Throws ConfigError
/// when pixels of the type cannot be masked so.
PixelFormat format_of(PixelType type, std::optional<Masked> masked, std::int64_t largest_count);

/// Returns true when the range contains all values of the type, so that no comparison is needed.
constexpr bool holds_all(PixelType type, PhotonRange range) noexcept {
  const PhotonRange all = photon_range(plain(type));
  return range.least <= all.least && range.most >= all.most;
}

/// Returns the format as vectors read it. Signed pixels whose counts end below the largest value of their type are read
/// as unsigned. A negative value then exceeds the end of counts, and one comparison suffices.
constexpr PixelFormat looked_at(PixelFormat format) noexcept {
  if (format.masked != Masked::negative || format.largest_count >= largest_value(format.type)) return format;
  return {format.type == PixelType::i16 ? PixelType::u16 : PixelType::u32, Masked::maximum, format.largest_count};
}

/// Returns the counts at or above a threshold; least > most: none.
constexpr PhotonRange from_threshold(PixelFormat format, std::int32_t threshold) noexcept {
  const PhotonRange range = photon_range(format);
  return {std::max<std::int64_t>(range.least, threshold), range.most};
}

/// Throws ConfigError unless pixels can reach the threshold: "kernel csr: threshold: …".
void check_threshold(const char* kernel, PixelFormat format, std::int32_t threshold);

}  // namespace rashpa::kernel
