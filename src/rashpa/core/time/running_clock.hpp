// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace rashpa {

/// Time as a thread has lived it: a clock that does not count what passed while its process stood still (SIGSTOP, a
/// closed lid, a busy virtual machine). Nobody can be late while nobody looks. One thread, which looks often.
class RunningClock {
 public:
  /// The longest step between two looks that counts in full.
  static constexpr std::int64_t kLongestStepNs = 20'000'000;

  explicit RunningClock(std::int64_t now) noexcept : seen_(now), time_(now) {}
  /// `now`: monotonic. Returns nanoseconds that compare with one another alone.
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
