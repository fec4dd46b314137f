// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace rashpa {

/// A clock that leaves out the time while its process was stopped (SIGSTOP, a closed lid, a busy virtual machine), so
/// that such a stop makes nothing late. One thread reads it, often.
class RunningClock {
 public:
  /// The longest step between two readings that counts in full; longer steps count as this one.
  static constexpr std::int64_t kLongestStepNs = 20'000'000;

  explicit RunningClock(std::int64_t now) noexcept : seen_(now), time_(now) {}
  /// Advances the clock to the monotonic time `now` and returns its nanoseconds. Compare them only with other results
  /// of this clock.
  std::int64_t look(std::int64_t now) noexcept {
    time_ += std::clamp<std::int64_t>(now - seen_, 0, kLongestStepNs);
    seen_ = now;
    return time_;
  }

 private:
  std::int64_t seen_;
  std::int64_t time_;
};

}  // namespace rashpa
