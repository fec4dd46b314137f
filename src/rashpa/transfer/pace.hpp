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

/// The frame number that means that no frame is held.
inline constexpr std::uint64_t kNoHold = UINT64_MAX;

/// The times of recorded frames that are played again.
struct Timetable {
  std::vector<std::int64_t> due_ns;  ///< due time of each frame, from the first on; not empty, never decreasing
  std::int64_t period_ns = 0;        ///< from the first frame to its repetition after the last one

  [[nodiscard]] std::int64_t of(std::uint64_t number) const noexcept {
    const std::uint64_t round = number / due_ns.size();
    return due_ns[number % due_ns.size()] + static_cast<std::int64_t>(round) * period_ns;
  }
};

/// The due times of frames: number `frame` is due at `start_ns` (monotonic), and `rate_hz` frames a second from there
/// on.
struct Pace {
  double rate_hz = 0;  ///< 0: frames have no due times
  std::uint64_t frame = 0;
  std::int64_t start_ns = 0;
  const Timetable* times = nullptr;  ///< due times of each frame; `rate_hz` is then their mean rate

  /// Returns the due time of a frame, where there is a rate. Frames before `frame` were due before `start_ns`.
  [[nodiscard]] std::int64_t due_ns(std::uint64_t number) const noexcept {
    if (times != nullptr) return start_ns + times->of(number) - times->of(frame);
    const auto frames = static_cast<double>(static_cast<std::int64_t>(number - frame));
    return start_ns + static_cast<std::int64_t>(std::llround(frames * 1e9 / rate_hz));
  }
};

/// The paces of a run, each valid from its frame on until the next one's. One thread reads, any thread changes.
class Paces {
 public:
  Paces() { all_.reserve(kUsual); }
  /// Sets the pace from frame 0 on. The reader calls it once, before all else.
  void begin(const Pace& pace) {
    const std::lock_guard lock(mutex_);
    all_.insert(all_.begin(), pace);
    changed_.store(true, std::memory_order_relaxed);
  }
  /// Changes the pace from `pace.frame` on. It replaces earlier changes for later frames, such as the rate after a hold
  /// that has ended: the last order counts.
  void change(const Pace& pace) {
    const std::lock_guard lock(mutex_);
    while (!all_.empty() && all_.back().frame >= pace.frame) all_.pop_back();
    all_.push_back(pace);
    changed_.store(true, std::memory_order_release);
  }
  /// Returns true when there is a pace that the reader has not read yet. The reader's thread calls it.
  [[nodiscard]] bool changed() const noexcept { return changed_.load(std::memory_order_relaxed); }
  /// Returns the pace of a frame. The reader calls it.
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
