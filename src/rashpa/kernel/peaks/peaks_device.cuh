// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sorts peaks into the rows of a table and computes its numbers, by the threads of a block. For all kernels that do
/// it, over a stack (peaks.cu) or resident.
#include <cuda_runtime.h>

#include <cstdint>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/peaks/peak_room.cuh"
#include "rashpa/kernel/rings/rings_cuda.hpp"

namespace rashpa::kernel::cuda {

inline constexpr unsigned kPeakColumns = 7;

__device__ inline void put_row(Scalar* row, const Peak& peak) {
  row[0] = Scalar::of_real(peak.x);
  row[1] = Scalar::of_real(peak.y);
  row[2] = Scalar::of_real(peak.intensity);
  row[3] = Scalar::of_real(peak.snr);
  row[4] = Scalar::of_count(peak.pixels);
  row[5] = Scalar::of_real(peak.largest);
  row[6] = Scalar::of_real(peak.background);
}

/// Writes the rows of a block's share of peaks, which begins at first · kThreads and continues at regular steps of
/// kThreads. All threads of a block of kThreads call it. `intensities` are in the order of rows. All threads call
/// `done` when the block has stored all its intensities; its last rows follow.
template <std::uint32_t kThreads, typename Done>
__device__ void put_in_order(const PeakEntry* entries, std::uint32_t count, std::uint32_t first, std::uint32_t blocks,
                             std::uint64_t (&keys)[kThreads], double* intensities, Scalar* rows, Done done) {
  constexpr std::uint32_t kNone = ~0U;
  std::uint32_t i = kNone, rank = 0;
  for (std::uint32_t begin = first * kThreads; begin < count; begin += blocks * kThreads) {
    if (i < count) put_row(rows + std::size_t{rank} * kPeakColumns, entries[i].peak);
    i = begin + threadIdx.x;
    const std::uint64_t key = i < count ? entries[i].key : 0;
    rank = 0;
    for (std::uint32_t some = 0; some < count; some += kThreads) {
      const std::uint32_t here = min(count - some, kThreads);
      __syncthreads();
      if (threadIdx.x < here) keys[threadIdx.x] = entries[some + threadIdx.x].key;
      __syncthreads();
#pragma unroll 8
      for (std::uint32_t k = 0; k < here; ++k) rank += keys[k] < key ? 1 : 0;
    }
    if (i < count) intensities[rank] = entries[i].peak.intensity;
  }
  done();
  if (i < count) put_row(rows + std::size_t{rank} * kPeakColumns, entries[i].peak);
}

/// Returns the sum of `count` numbers in their order, as unit cpu adds them. A warp calls it; all lanes get the result.
__device__ inline double sum_in_order(const double* intensities, std::uint32_t count) {
  constexpr unsigned kAll = ~0U;
  double sum = 0;
  for (std::uint32_t first = 0; first < count; first += 32) {
    // Every addend behind the last one is +0, which changes no sum that began with it.
    const std::uint32_t at = first + threadIdx.x % 32;
    const double mine = at < count ? __ldcg(&intensities[at]) : 0;
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += __shfl_sync(kAll, mine, k);
  }
  return sum;
}

/// Returns the number of an image's rings that have pixels and no background. A warp calls it; all lanes get the
/// result.
__device__ inline std::uint32_t empty_rings(const MarkedRings::Seen& rings, std::uint32_t image) {
  const RingLimit* const limits = rings.limits + std::size_t{image} * rings.rings;
  std::uint32_t count = 0;
  for (std::uint32_t ring = threadIdx.x % 32; ring < rings.rings; ring += 32) {
    count += rings.firsts[ring + 1] > rings.firsts[ring] && !limits[ring].known() ? 1 : 0;
  }
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) count += __shfl_xor_sync(~0U, count, distance);
  return count;
}

}  // namespace rashpa::kernel::cuda
