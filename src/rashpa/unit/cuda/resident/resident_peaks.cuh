// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The step `peakfinder8` in the resident kernel. Compiled without fused multiply-adds.
#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/peakfinder8/peakfinder8_device.cuh"
#include "rashpa/kernel/peaks/peaks_device.cuh"
#include "rashpa/unit/cuda/resident/resident_steps.cuh"

namespace rashpa::unit::cuda::resident_device {

namespace peakfinder8 = kernel::peakfinder8::cuda;

/// The additional memory for finding peaks.
struct PeakWork {
  std::uint32_t step = 0;  ///< number in ResidentTask::steps
  peakfinder8::Known known{};
  kernel::SnrRounds rounds{};
  kernel::cuda::MarkedRings::Made rings{};
  kernel::cuda::MarkedRings::Seen seen{};
  kernel::cuda::PeakRoom room{};
  kernel::cuda::PeakTable::Rows rows{};
  std::uint32_t ring_room = 0;  ///< values of a ring that fit into shared memory
  unsigned warps = 0;           ///< warps of a block that grow peaks
};

template <typename Work>
__device__ void for_each(std::uint32_t images, Work work) {
  for (; images != 0; images &= images - 1) work(static_cast<std::uint32_t>(__ffs(static_cast<int>(images)) - 1));
}

/// Finds the peaks of the images `reached` as kernels over a stack do; barriers replace the boundaries between those
/// kernels. All blocks call it.
__device__ inline void find_peaks(const ResidentTask& task, const PeakWork& peaks, Team& team, std::uint32_t slot,
                                  std::uint32_t reached, std::byte* memory) {
  static_assert(kThreads == kernel::cuda::kRingThreads);
  constexpr std::uint32_t kSeedWords = kTilePixels / 32;
  using Ring = kernel::cuda::Values<std::int16_t, false, true>;
  __shared__ __align__(16) std::uint32_t of_warps[2 * kWarps * sizeof(Ring::Found) / sizeof(std::uint32_t)];
  __shared__ peakfinder8::Seeds<kSeedWords> seeds;
  const std::uint32_t block = Team::block();
  const std::uint32_t blocks = Team::blocks();
  const std::uint32_t rings = peaks.seen.rings;
  const std::uint32_t words = peaks.seen.words;
  const auto pixels_of = [&](std::uint32_t i) {
    return reinterpret_cast<const std::int16_t*>(task.out + i * task.out_stride);
  };
  for_each(reached, [&](std::uint32_t i) {
    if (block == 0 && threadIdx.x == 0) peaks.room.counts[i] = 0;
    for (std::uint32_t ring = block; ring < rings; ring += blocks) {
      const std::uint32_t first = peaks.rings.firsts[ring];
      Ring values(pixels_of(i), peaks.rings.order + first, peaks.rings.firsts[ring + 1] - first, peaks.known.value,
                  reinterpret_cast<Ring::Kept*>(memory), peaks.ring_room, reinterpret_cast<Ring::Found*>(of_warps));
      const kernel::RingLimit limit =
          kernel::cuda::SnrOnDevice{peaks.rounds.min_snr, peaks.rounds.threshold}.limit(values);
      if (threadIdx.x == 0) peaks.rings.limits[std::size_t{i} * rings + ring] = limit;
      __syncthreads();  // the next ring's sums go where these are read
    }
  });
  team.meet();
  for_each(reached, [&](std::uint32_t i) {
    auto* const marks = reinterpret_cast<std::uint8_t*>(peaks.seen.marks + std::size_t{i} * words);
    const auto* const above = reinterpret_cast<const float*>(peaks.rings.limits + std::size_t{i} * rings);
    for (std::uint32_t first = (block * kThreads + threadIdx.x) * kernel::cuda::kMarkedPixels; first < words * 32;
         first += blocks * kTilePixels) {
      marks[first / kernel::cuda::kMarkedPixels] =
          kernel::cuda::EightOfRings<std::int16_t>(pixels_of(i), peaks.seen.ring_of, task.tables.pixels, first)
              .marks(peaks.known.value, above, sizeof(kernel::RingLimit) / sizeof(float));
    }
  });
  team.meet();
  for_each(reached, [&](std::uint32_t i) {
    for (std::uint32_t first = block * kSeedWords; first < words; first += blocks * kSeedWords) {
      peakfinder8::find_peaks<kSeedWords>(pixels_of(i), peaks.known, peaks.seen.marks + std::size_t{i} * words, words,
                                          peaks.rings.limits + std::size_t{i} * rings, i, first, seeds,
                                          reinterpret_cast<std::uint32_t*>(memory), peaks.warps, peaks.room);
    }
  });
  team.meet();
  std::uint32_t turn = 0;
  for_each(reached, [&](std::uint32_t i) {
    if (turn++ % blocks != block) return;
    const std::uint32_t count = peaks.room.counts[i];
    const std::uint32_t rows = count > peaks.room.most ? 0 : count;
    const std::size_t place = std::size_t{slot} * task.stack + i;
    double* const intensities = peaks.rows.intensities + std::size_t{i} * peaks.room.most;
    kernel::cuda::put_in_order<kThreads>(peaks.room.entries + std::size_t{i} * peaks.room.most, rows, 0, 1,
                                         *reinterpret_cast<std::uint64_t(*)[kThreads]>(memory), intensities,
                                         peaks.rows.table + place * peaks.room.most * kernel::cuda::kPeakColumns,
                                         [] {});
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const double sum = kernel::cuda::sum_in_order(intensities, rows);
    const std::uint32_t empty = kernel::cuda::empty_rings(peaks.seen, i);
    if (threadIdx.x != 0) return;
    task.peaks[i] = {sum, count, empty};
    peaks.rows.found[place] = rows;
    if (rows != count) *peaks.rows.too_many = count;
  });
  team.meet();
}

}  // namespace rashpa::unit::cuda::resident_device
