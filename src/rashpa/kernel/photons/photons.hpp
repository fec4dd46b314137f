// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Photon images of any integer type: which function for which type, and which values a threshold picks.
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

/// Pixels of the type, masked as said; nothing said: as detectors deliver them. Throws ConfigError when pixels of the
/// type cannot be masked so.
PixelFormat format_of(PixelType type, std::optional<Masked> masked, std::int64_t largest_count);

/// Returns true when all values of the type are in the range, so that nothing is left to be compared.
constexpr bool holds_all(PixelType type, PhotonRange range) noexcept {
  const PhotonRange all = photon_range(plain(type));
  return range.least <= all.least && range.most >= all.most;
}

/// The format as vectors look at it. Signed pixels whose counts end below the largest value of their type are read as
/// unsigned ones: a negative value then lies beyond the end, and one comparison suffices.
constexpr PixelFormat looked_at(PixelFormat format) noexcept {
  if (format.masked != Masked::negative || format.largest_count >= largest_value(format.type)) return format;
  return {format.type == PixelType::i16 ? PixelType::u16 : PixelType::u32, Masked::maximum, format.largest_count};
}

/// The counts at or above a threshold; least > most: there are none.
constexpr PhotonRange from_threshold(PixelFormat format, std::int32_t threshold) noexcept {
  const PhotonRange range = photon_range(format);
  return {std::max<std::int64_t>(range.least, threshold), range.most};
}

/// Throws ConfigError unless pixels can reach the threshold: "kernel csr: threshold: …".
void check_threshold(const char* kernel, PixelFormat format, std::int32_t threshold);

}  // namespace rashpa::kernel
