// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The conditions under which unit cuda counts the values of an image by ring, and the memory for it.
#include <cstddef>
#include <cstdint>

namespace rashpa::kernel {

inline constexpr std::uint32_t kRingBins = 64;    ///< number of values of a ring that have their own bin
inline constexpr std::uint32_t kRingOthers = 32;  ///< most values of a ring without a bin, which are listed
/// The bytes for each ring of an image: bins, values without a bin, and their number.
inline constexpr double kCountedRingBytes = (kRingBins + kRingOthers + 1) * sizeof(std::uint32_t);

/// Returns true when rings are counted by value: pixels have 8 or 16 bits, the image has more pixels than counters, and
/// the counters of a stack take at most 64 MiB. Python's device_memory.py has the same rule.
constexpr bool counts_rings(std::size_t pixel_bytes, std::size_t pixels, std::size_t rings,
                            std::size_t stack) noexcept {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
  return pixel_bytes <= 2 && rings <= pixels / 64 && stack * rings * kRingBins * sizeof(std::uint32_t) <= kMostBytes;
}

}  // namespace rashpa::kernel
