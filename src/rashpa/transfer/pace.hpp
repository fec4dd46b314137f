// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace rashpa::transfer {

/// No frame has this number: nothing is held.
inline constexpr std::uint64_t kNoHold = UINT64_MAX;

/// The times at which frames were taken that are played again.
struct Timetable {
  std::vector<std::int64_t> due_ns;  ///< of each frame, from the first on; not empty, and none is before another
  std::int64_t period_ns = 0;        ///< from the first to when it comes again, behind the last

  [[nodiscard]] std::int64_t of(std::uint64_t number) const noexcept {
    const std::uint64_t round = number / due_ns.size();
    return due_ns[number % due_ns.size()] + static_cast<std::int64_t>(round) * period_ns;
  }
};

/// The times at which frames are due: number `frame` at `start_ns` (monotonic), and `rate_hz` of them a second from
/// there on.
struct Pace {
  double rate_hz = 0;  ///< 0: no frame is due at any time
  std::uint64_t frame = 0;
  std::int64_t start_ns = 0;
  const Timetable* times = nullptr;  ///< says it for each frame; `rate_hz` is their mean then

  /// Returns the time at which a frame is due, where there is a rate. Frames before `frame` were due before `start_ns`.
  [[nodiscard]] std::int64_t due_ns(std::uint64_t number) const noexcept {
    if (times != nullptr) return start_ns + times->of(number) - times->of(frame);
    const auto frames = static_cast<double>(static_cast<std::int64_t>(number - frame));
    return start_ns + static_cast<std::int64_t>(std::llround(frames * 1e9 / rate_hz));
  }
};

/// The paces of a run: each holds from its frame on, until the next one's. One thread reads, any changes.
class Paces {
 public:
  Paces() { all_.reserve(kUsual); }
  /// The reader, once and first: the one from frame 0 on.
  void begin(const Pace& pace) {
    const std::lock_guard lock(mutex_);
    all_.insert(all_.begin(), pace);
    changed_.store(true, std::memory_order_relaxed);
  }
  /// Changes the pace from `pace.frame` on. Earlier orders for frames from there on, such as the rate behind a hold
  /// that has ended, are given up: the last order counts.
  void change(const Pace& pace) {
    const std::lock_guard lock(mutex_);
    while (!all_.empty() && all_.back().frame >= pace.frame) all_.pop_back();
    all_.push_back(pace);
    changed_.store(true, std::memory_order_release);
  }
  /// Returns true when there is a pace that the reader does not know yet. The reader's thread calls it.
  [[nodiscard]] bool changed() const noexcept { return changed_.load(std::memory_order_relaxed); }
  /// The reader: that of a frame.
  [[nodiscard]] const Pace& of(std::uint64_t frame) {
    if (changed() || frame < now_.frame || frame >= end_) find(frame);
    return now_;
  }

 private:
  void find(std::uint64_t frame) {
    const std::lock_guard lock(mutex_);
    changed_.store(false, std::memory_order_relaxed);
    const auto next = std::upper_bound(all_.begin(), all_.end(), frame,
                                       [](std::uint64_t number, const Pace& pace) { return number < pace.frame; });
    now_ = next == all_.begin() ? all_.front() : *(next - 1);
    end_ = next == all_.end() ? kNoHold : next->frame;
  }

  static constexpr std::size_t kUsual = 16;  // the reader's thread asks for no memory, then
  std::mutex mutex_;
  std::vector<Pace> all_;             // each frame later than the one before; guarded by mutex_
  std::atomic<bool> changed_{false};  // relaxed: an order's thread sets it under a lock, the source looks often
  Pace now_{};                        // the reader's
  std::uint64_t end_ = kNoHold;
};

}  // namespace rashpa::transfer
