// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "rashpa/core/time/running_clock.hpp"

namespace rashpa::scheduler {

/// The clock by which images of a lane are late. It counts only while the sources could send and this process could
/// run. When all sources fall silent at once, and for much longer than usual, their process is stopped (SIGSTOP), and
/// the clock waits for up to `patience_ns`. One thread.
class LateClock {
 public:
  /// The divisor of the deadline: a silence shorter than that part always counts.
  static constexpr std::int64_t kDeadlineParts = 4;

  /// Creates the clock. `patience_ns` 0: it never waits.
  LateClock(std::int64_t deadline_ns, std::int64_t patience_ns) noexcept
      : short_ns_(deadline_ns / kDeadlineParts), patience_ns_(patience_ns) {}

  /// Advances to the monotonic time `now`. `explained`: the silence of the sources has a known reason. Returns
  /// nanoseconds that may only be compared with other results of this clock.
  std::int64_t look(std::int64_t now, bool explained) noexcept {
    const std::int64_t lived = running_.look(now);
    const std::int64_t step = lived - lived_;
    lived_ = lived;
    if (held_) {
      heard_lived_ += step;
    } else if (explained || !sources_stand()) {
      time_ += step;
    } else {
      stood_ns_ += step;
    }
    return time_;
  }
  /// Stops deadlines and silence at the last look, while `held`.
  void hold(bool held) noexcept { held_ = held; }
  /// Records an arrival from a source, after a look.
  void heard() noexcept {
    const std::int64_t silence = time_ - heard_;
    // the longest of late, so that single gaps are forgotten
    usual_ns_ = std::max(silence, usual_ns_ - usual_ns_ / kForgotten);
    heard_ = time_;
    heard_lived_ = lived_;
    stood_ns_ = 0;
    arrivals_ = std::min(arrivals_ + 1, kFew);
  }
  /// Returns the duration of the sources' silence, stopped or not, without held time.
  [[nodiscard]] std::int64_t silence() const noexcept { return lived_ - heard_lived_; }

 private:
  static constexpr std::int64_t kForgotten = 8;   // the part of the usual gap that each arrival forgets
  static constexpr std::int64_t kMuchLonger = 4;  // than usual
  static constexpr unsigned kFew = 16;            // arrivals, before anything is usual

  [[nodiscard]] bool sources_stand() const noexcept {
    if (patience_ns_ == 0 || arrivals_ < kFew || stood_ns_ >= patience_ns_) return false;
    return time_ - heard_ >= std::max(short_ns_, kMuchLonger * usual_ns_);
  }

  RunningClock running_{0};
  std::int64_t short_ns_;
  std::int64_t patience_ns_;
  std::int64_t lived_ = 0;  // of the process
  std::int64_t time_ = 0;   // without what the sources stood still
  std::int64_t heard_ = 0;  // when, in `time_`
  std::int64_t heard_lived_ = 0;
  std::int64_t usual_ns_ = 0;
  std::int64_t stood_ns_ = 0;
  unsigned arrivals_ = 0;
  bool held_ = false;
};

}  // namespace rashpa::scheduler
