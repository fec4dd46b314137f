// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <limits>

#include "rashpa/core/time/leap_seconds.hpp"

namespace rashpa {

/// Returns monotonic nanoseconds (CLOCK_MONOTONIC), comparable between processes of one machine.
inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Returns `seconds`, possibly untrusted, in nanoseconds. Negative values and NaN give 0. The result is at most a
/// quarter of the clock's range, so that sums with now_ns() cannot overflow.
constexpr std::int64_t ns_of(double seconds) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
  if (!(seconds > 0)) return 0;
  return seconds * 1e9 < static_cast<double>(kMost) ? static_cast<std::int64_t>(seconds * 1e9) : kMost;
}

/// Returns nanoseconds since 1970-01-01 UTC.
inline std::uint64_t now_utc_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

/// Returns nanoseconds since 1970-01-01 TAI.
inline std::uint64_t tai_ns() { return tai_of_utc(now_utc_ns()); }

}  // namespace rashpa
