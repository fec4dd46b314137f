// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>

namespace rashpa {

/// Monotonic nanoseconds; comparable between processes of one machine (CLOCK_MONOTONIC).
inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds since 1970-01-01 TAI: UTC plus the 37 leap seconds in force since 2017.
inline std::uint64_t tai_ns() noexcept {
  constexpr std::int64_t kTaiMinusUtc = 37'000'000'000;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count() +
      kTaiMinusUtc);
}

}  // namespace rashpa
