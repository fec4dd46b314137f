// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace rashpa::dataset {

/// The progress of a dataset that is being made or read. The maker counts frames; any thread may read the progress.
class Making {
 public:
  void begin(std::uint64_t frames) noexcept {
    done_.store(0, std::memory_order_relaxed);
    total_.store(frames, std::memory_order_relaxed);
  }
  /// Counts one more frame of one module.
  void count() noexcept { done_.fetch_add(1, std::memory_order_relaxed); }

  /// Returns the completed fraction, 0 … 1; 0 before the work begins.
  [[nodiscard]] double share() const noexcept {
    const std::uint64_t total = total_.load(std::memory_order_relaxed);
    const auto done = static_cast<double>(done_.load(std::memory_order_relaxed));
    return total == 0 ? 0.0 : done / static_cast<double>(total);
  }

 private:
  std::atomic<std::uint64_t> done_{0}, total_{0};  // relaxed: the maker counts, a thread that shows progress reads
};

}  // namespace rashpa::dataset
