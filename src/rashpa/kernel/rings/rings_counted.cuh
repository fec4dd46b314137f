// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counts of an image's values by ring, made in one pass over the pixels. Sums over windows of a ring then come from
/// its counts, any number of times. For pixels of at most 16 bits. Rings with many values without a bin are read pixel
/// by pixel instead (rings_device.cuh); where most rings are like that, counting pauses until they fit again.
#include <cuda_runtime.h>

#include <climits>
#include <cstdint>

#include "rashpa/kernel/device/early_launch.cuh"
#include "rashpa/kernel/rings/counted_rings.hpp"
#include "rashpa/kernel/rings/rings_cuda.hpp"
#include "rashpa/kernel/rings/rings_device.cuh"

namespace rashpa::kernel::cuda {

inline constexpr unsigned kCountThreads = 256;
inline constexpr std::uint32_t kTileSide = 64;      // pixels
inline constexpr std::uint32_t kTileRings = 96;     // of a tile that are counted in shared memory: its diagonal
inline constexpr std::uint32_t kTileOthers = 16;    // of a ring in a tile
inline constexpr std::int32_t kLeastOfSigned = -8;  // value of the first bin, where pixels may be negative

/// The state that kernels of one stack leave for those of the next.
struct CountedState {
  std::uint32_t skip = 0;  ///< 1: images of this stack are not counted
  std::uint32_t last = 0;  ///< number of rings of the last stack that could not be counted
  std::uint32_t now = 0;   ///< number of such rings of this stack so far
};

/// The memory of a bench.
struct Counted {
  std::uint32_t* bins = nullptr;    // [image][ring][kRingBins], 0 but between count_rings and limits
  std::uint32_t* others = nullptr;  // [image][ring]: values without a bin, 0 as well; above kRingOthers: too many
  std::int32_t* values = nullptr;   // [image][ring][kRingOthers]: those
  CountedState* state = nullptr;
  const std::uint16_t* lowest = nullptr;  // [tile]: the first ring
  std::int32_t least = 0;                 // value of the first bin
};

/// Counts a tile of an image in each block. Pixels above `candidates` get a bit in `marks`, [image][words]; null: no
/// bits.
template <typename T>
__global__ void __launch_bounds__(kCountThreads, 8)
    count_rings(const T* images, std::size_t stride, const std::uint8_t* work, const std::uint16_t* ring_of,
                std::uint32_t width, std::uint32_t height, std::uint32_t rings, PixelValue value, Counted counted,
                std::uint32_t most_bad, float candidates, std::uint32_t* marks, std::uint32_t words) {
  constexpr std::uint32_t kStride = kRingBins + 1;  // the last one: values without a bin
  constexpr std::uint32_t kInRow = kTileSide / kMarkedPixels;
  __shared__ __align__(16) std::uint32_t counters[kTileRings * kStride];
  static_assert(sizeof(counters) % sizeof(uint4) == 0);
  const std::uint32_t image = blockIdx.y;
  let_next_begin();
  const std::uint32_t last = counted.state->last;
  const bool wanted = work[image] != 0;
  const std::uint32_t lowest = counted.lowest[blockIdx.x];
  for (std::uint32_t c = threadIdx.x; c < sizeof(counters) / sizeof(uint4); c += kCountThreads) {
    reinterpret_cast<uint4*>(counters)[c] = uint4{};
  }
  const bool skip = last > most_bad;
  if (blockIdx.x == 0 && image == 0 && threadIdx.x == 0) counted.state->skip = skip ? 1 : 0;
  if (skip || !wanted) return;
  __syncthreads();
  const std::uint32_t across = (width + kTileSide - 1) / kTileSide;
  const std::uint32_t left = blockIdx.x % across * kTileSide;
  const std::uint32_t top = blockIdx.x / across * kTileSide;
  const std::uint32_t rows = min(height - top, kTileSide);
  const std::uint32_t columns = min(width - left, kTileSide);
  const std::uint32_t pixels = width * height;
  const std::size_t of_image = std::size_t{image} * rings;
  const auto least = static_cast<std::int32_t>(value.least), most = static_cast<std::int32_t>(value.most);
  // Groups of eight pixels that begin in the tile: where rows are not whole groups, the last one of a row goes on in
  // the next.
#pragma unroll 1
  for (std::uint32_t group = threadIdx.x; group < rows * kInRow; group += kCountThreads) {
    const std::uint32_t row = group / kInRow;
    const std::uint32_t begin = (top + row) * width + left;
    const std::uint32_t first = ((begin + kMarkedPixels - 1) / kMarkedPixels + group % kInRow) * kMarkedPixels;
    if (first >= begin + columns) continue;
    const EightOfRings<T> eight(images + image * stride, ring_of, pixels, first);
    unsigned bits = 0;
#pragma unroll
    for (unsigned p = 0; p < kMarkedPixels; ++p) {
      const std::uint32_t ring = eight.ring(p);
      const auto number = static_cast<std::int32_t>(eight.pixel(p));
      if (ring == Rings::kNone || number < least || number > most) continue;
      bits |= static_cast<float>(number) > candidates ? 1U << p : 0U;
      const auto bin = static_cast<std::uint32_t>(number - counted.least);
      const std::uint32_t cell = ring - lowest;  // of a ring below it: far beyond the last one
      if (bin < kRingBins && cell < kTileRings) {
        atomicAdd(&counters[cell * kStride + bin], 1U);
        continue;
      }
      if (bin < kRingBins) {
        atomicAdd(&counted.bins[(of_image + ring) * kRingBins + bin], 1U);
        continue;
      }
      const std::uint32_t before = cell < kTileRings ? atomicAdd(&counters[cell * kStride + kRingBins], 1U) : 0;
      if (before > kTileOthers) continue;
      const std::uint32_t at = atomicAdd(&counted.others[of_image + ring], before < kTileOthers ? 1 : kRingOthers + 1);
      if (at < kRingOthers) counted.values[(of_image + ring) * kRingOthers + at] = number;
    }
    if (marks == nullptr) continue;
    reinterpret_cast<std::uint8_t*>(marks + std::size_t{image} * words)[first / kMarkedPixels] =
        static_cast<std::uint8_t>(bits);
  }
  __syncthreads();
  for (std::uint32_t c = threadIdx.x; c < kTileRings * kRingBins; c += kCountThreads) {
    const std::uint32_t count = counters[c / kRingBins * kStride + c % kRingBins];
    if (count != 0) atomicAdd(&counted.bins[(of_image + lowest) * kRingBins + c], count);
  }
}

/// A counted ring, read by a warp. Its counters are reset to 0.
template <typename T, bool Above>
class CountedRing {
 public:
  using Found = Sums<T, Above>;
  /// Reads the ring. `at` is its number in the image; `others` is the number of its values without a bin.
  __device__ __forceinline__ CountedRing(const Counted& counted, std::size_t at, std::uint32_t others) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned k = 0; k < kHeld; ++k) {
      std::uint32_t* const bin = counted.bins + at * kRingBins + lane + 32 * k;
      counts_[k] = *bin;
      *bin = 0;
      values_[k] = counted.least + static_cast<std::int32_t>(lane + 32 * k);
    }
    values_[kHeld] = lane < others ? counted.values[at * kRingOthers + lane] : INT_MIN;
    counts_[kHeld] = 1;
  }
  /// Returns the sums of values with low < value < high. All lanes call it and get the same.
  __device__ __forceinline__ Found sums(float low, float high) {
    const Whole<T, Above> window(low, high);
    Found all;
#pragma unroll
    for (unsigned k = 0; k <= kHeld; ++k) {
      if (!window.holds(values_[k])) continue;
      const auto value = static_cast<long long>(values_[k]);
      all.sum += value * counts_[k];
      all.squares += static_cast<unsigned long long>(value * value) * counts_[k];
      all.count += counts_[k];
      if constexpr (Above) {
        if (value >= 1) {
          all.sum_above += value * counts_[k];
          all.count_above += counts_[k];
        }
      }
    }
#pragma unroll
    for (unsigned distance = 16; distance > 0; distance /= 2) all.add(all.of_lane(distance));
    return all;
  }

 private:
  static constexpr unsigned kHeld = kRingBins / 32;
  static_assert(kRingBins % 32 == 0 && kRingOthers == 32);
  std::uint32_t counts_[kHeld + 1];
  std::int32_t values_[kHeld + 1];
};

/// Returns true when a ring that was not counted would have fitted.
template <class Ring>
__device__ bool could_be_counted(Ring& ring, std::int32_t least) {
  const auto with_bins = ring.sums(static_cast<float>(least - 1), static_cast<float>(least) + kRingBins);
  return ring.sums(-INFINITY, INFINITY).count - with_bins.count <= kRingOthers;
}

/// Passes the state to the next stack. One thread calls it after the limits of a stack are computed.
__device__ __forceinline__ void pass_on(CountedState* state) {
  state->last = state->now;
  state->now = 0;
}

}  // namespace rashpa::kernel::cuda
