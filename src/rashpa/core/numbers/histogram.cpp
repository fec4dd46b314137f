// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/numbers/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rashpa {

unsigned Histogram::bucket_of(std::uint64_t value) noexcept {
  if (value < kSub) return static_cast<unsigned>(value);
  const unsigned octave = static_cast<unsigned>(std::bit_width(value)) - 5;  // value >> octave is 16 … 31
  return (octave + 1) * kSub + static_cast<unsigned>((value >> octave) - kSub);
}

std::uint64_t Histogram::upper_of(unsigned bucket) noexcept {
  if (bucket < kSub) return bucket;
  const unsigned octave = bucket / kSub - 1;
  return ((static_cast<std::uint64_t>(bucket % kSub + kSub + 1)) << octave) - 1;
}

void Histogram::record(std::int64_t value_ns) noexcept {
  const std::uint64_t value = value_ns > 0 ? static_cast<std::uint64_t>(value_ns) : 0;
  // relaxed, here and below: this thread alone records, and a status that reads meanwhile may see one record in part
  buckets_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(static_cast<std::int64_t>(value), std::memory_order_relaxed);
  if (value_ns > max_.load(std::memory_order_relaxed)) max_.store(value_ns, std::memory_order_relaxed);
}

std::int64_t Histogram::percentile_ns(double p) const noexcept {
  const std::uint64_t total = count();
  if (total == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(p * static_cast<double>(total)));
  std::uint64_t seen = 0;
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket].load(std::memory_order_relaxed);
    if (seen >= std::max<std::uint64_t>(rank, 1)) {
      return std::min(static_cast<std::int64_t>(upper_of(bucket)), max_ns());
    }
  }
  return max_ns();
}

void Histogram::count_below(unsigned first, std::span<std::uint64_t> counts) const noexcept {
  std::uint64_t seen = 0;
  unsigned bucket = 0;
  for (unsigned power = first; std::uint64_t & count : counts) {
    const unsigned end = bucket_of(std::uint64_t{1} << power++);  // a power of two begins a bucket
    for (; bucket < end; ++bucket) seen += buckets_[bucket].load(std::memory_order_relaxed);
    count = seen;
  }
}

void Histogram::reset() noexcept {
  // relaxed: no thread records meanwhile, and a status that reads may see the old and the new
  for (auto& bucket : buckets_) bucket.store(0, std::memory_order_relaxed);
  count_.store(0, std::memory_order_relaxed);
  sum_.store(0, std::memory_order_relaxed);
  max_.store(0, std::memory_order_relaxed);
}

}  // namespace rashpa
