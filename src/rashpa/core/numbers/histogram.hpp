// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace rashpa {

/// A latency histogram of fixed size with 16 buckets an octave: a percentile is within 6 % of the true value, and the
/// maximum is exact. One thread records, any thread reads.
class Histogram {
 public:
  void record(std::int64_t value_ns) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t sum_ns() const noexcept { return sum_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t max_ns() const noexcept { return max_.load(std::memory_order_relaxed); }
  /// Returns the value below which the fraction `p` (0 … 1) of all records lies, at most max_ns(); 0 without records.
  [[nodiscard]] std::int64_t percentile_ns(double p) const noexcept;
  /// Counts the records below 2^`first` ns, below 2^(first + 1) ns, …, one for each element of `counts`. Counts are
  /// exact and never decrease between calls. `first` and the last exponent are 4 … 63.
  void count_below(unsigned first, std::span<std::uint64_t> counts) const noexcept;
  void reset() noexcept;

 private:
  static constexpr unsigned kSub = 16;
  static constexpr unsigned kBuckets = 64 * kSub;
  static unsigned bucket_of(std::uint64_t value) noexcept;
  static std::uint64_t upper_of(unsigned bucket) noexcept;
  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};  // relaxed: one thread counts, a status reads
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::int64_t> sum_{0};
  std::atomic<std::int64_t> max_{0};
};

}  // namespace rashpa
