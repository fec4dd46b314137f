// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cmath>
#include <cstdint>

namespace rashpa::transfer {

/// The frames that triggers have released so far. One thread at a time opens it, when all released frames are sent;
/// DTPs read it.
class TriggerGate {
 public:
  /// Releases `frames` more frames, the first of them at `now_ns` (monotonic).
  void open(std::uint64_t frames, std::int64_t now_ns) noexcept {
    const std::uint64_t first = end_.load(std::memory_order_relaxed);
    first_.store(first, std::memory_order_relaxed);
    start_ns_.store(now_ns, std::memory_order_relaxed);
    end_.store(first + frames, std::memory_order_release);
  }
  /// Returns the number of released frames.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_.load(std::memory_order_acquire); }
  /// Returns the first frame that the latest trigger released.
  [[nodiscard]] std::uint64_t first() const noexcept { return first_.load(std::memory_order_relaxed); }
  /// Returns the due time of a frame of the latest trigger, from which the detector's rate counts.
  [[nodiscard]] std::int64_t due_ns(std::uint64_t frame, double rate_hz) const noexcept {
    const std::uint64_t first = first_.load(std::memory_order_relaxed);
    const double behind = frame > first ? static_cast<double>(frame - first) * 1e9 / rate_hz : 0;
    return start_ns_.load(std::memory_order_relaxed) + static_cast<std::int64_t>(std::llround(behind));
  }

 private:
  std::atomic<std::uint64_t> end_{0};  // release by an order's thread, acquire by sources: the two below
  std::atomic<std::uint64_t> first_{0};
  std::atomic<std::int64_t> start_ns_{0};
};

}  // namespace rashpa::transfer
