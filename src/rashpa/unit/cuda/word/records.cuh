// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Lock words and frame records as a device reads them in host memory, where a source writes them meanwhile.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cuda/atomic>

#include "rashpa/core/frame/last_word.hpp"

namespace rashpa::unit::cuda::word_device {

/// Reads a word behind which earlier stores of the source or the host are seen.
__device__ inline std::uint32_t acquired(const std::uint32_t& word) {
  using OnSystem = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_system>;
  // acquire: the source's release behind lines and record, or the host's
  return OnSystem(const_cast<std::uint32_t&>(word)).load(::cuda::memory_order_acquire);
}

/// The place of record `i` of a stack that begins with image `first`: image after image, each with all DTPs.
struct RecordPlace {
  __device__ RecordPlace(const LastWord* words, std::uint32_t dtps, std::uint64_t first, std::uint32_t i)
      : dtp(words[i % dtps]), index(first + i / dtps) {}
  /// Returns this lane's word of the record as it is in host memory now.
  [[nodiscard]] __device__ std::uint32_t read() const {
    const auto* const record =
        reinterpret_cast<const volatile std::uint32_t*>(dtp.records + index % dtp.slots * (4 * 32));
    return record[threadIdx.x % 32];
  }
  const LastWord& dtp;
  std::uint64_t index;
};

/// A lane's constants for records of any image.
struct LaneOfRecords {
  __device__ LaneOfRecords() {
    constexpr auto kFactors = record_words::factors();
    if (lane < record_words::kWords) factor = kFactors[lane];
  }
  unsigned lane = threadIdx.x % 32;
  std::uint32_t factor = 0;  // 0: the lane has the CRC
};

/// Checks several records by a warp; words[i]: this lane's word of record i. Returns a mask of the good ones, the same
/// in all lanes.
template <std::size_t N>
__device__ std::uint32_t good_ones(const LaneOfRecords& own, const std::array<std::uint32_t, N>& words,
                                   const std::array<record_words::Expected, N>& expected) {
  std::uint32_t good = 0;
#pragma unroll
  for (std::size_t i = 0; i < N; ++i) {
    const bool fits = (words[i] & expected[i].mask) == expected[i].value;
    if (__all_sync(~0U, fits) != 0) good |= 1U << i;
  }
  if (good == 0) return 0;
  std::array<std::uint32_t, N> left = words;
  for (std::size_t i = 0; i < N; ++i) left[i] = own.lane == 0 ? ~words[i] : words[i];
  std::array<std::uint32_t, N> parts = record_words::products<N>(left, own.factor);
#pragma unroll
  for (unsigned step = 16; step > 0; step /= 2) {
#pragma unroll
    for (std::size_t i = 0; i < N; ++i) parts[i] ^= __shfl_xor_sync(~0U, parts[i], step);
  }
#pragma unroll
  for (std::size_t i = 0; i < N; ++i) {
    if (__any_sync(~0U, own.lane == record_words::kWords && ~parts[i] != words[i]) != 0) good &= ~(1U << i);
  }
  return good;
}

/// Checks one record by a warp; `word`: that of this lane. Returns the same in all lanes.
__device__ inline bool is_good(const RecordPlace& place, std::uint32_t word) {
  const LaneOfRecords own;
  return good_ones<1>(own, {word}, {record_words::expected(place.dtp, place.index, own.lane)}) != 0;
}

}  // namespace rashpa::unit::cuda::word_device
