// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/core/clock.hpp"

namespace rashpa {

/// UTC that goes on by the monotonic clock from when this was made. A system clock that is set meanwhile moves neither
/// an end before its start nor a day between them. Any thread.
class SteadyUtc {
 public:
  SteadyUtc() noexcept : SteadyUtc(now_utc_ns(), now_ns()) {}
  /// The same, of clocks that were read: nanoseconds since 1970, and monotonic ones.
  SteadyUtc(std::uint64_t utc_ns, std::int64_t monotonic_ns) noexcept : utc_ns_(utc_ns), monotonic_ns_(monotonic_ns) {}
  /// Nanoseconds since 1970-01-01 UTC, of a monotonic time.
  [[nodiscard]] std::uint64_t at(std::int64_t monotonic_ns) const noexcept {
    return utc_ns_ + static_cast<std::uint64_t>(monotonic_ns - monotonic_ns_);
  }
  [[nodiscard]] std::uint64_t now() const noexcept { return at(now_ns()); }

 private:
  std::uint64_t utc_ns_;
  std::int64_t monotonic_ns_;
};

}  // namespace rashpa
