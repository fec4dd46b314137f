// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>

#include "rashpa/core/leap_seconds.hpp"

namespace rashpa {

/// Monotonic nanoseconds; comparable between processes of one machine (CLOCK_MONOTONIC).
inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds since 1970-01-01 UTC.
inline std::uint64_t now_utc_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

/// Nanoseconds since 1970-01-01 TAI.
inline std::uint64_t tai_ns() { return tai_of_utc(now_utc_ns()); }

}  // namespace rashpa
