// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The search for peaks above the background by one block of threads, for all kernels that do it, over a stack
/// (peakfinder8.cu) or resident. Compiled without fused multiply-adds: it computes the same as unit cpu, in the same
/// order.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "rashpa/kernel/peakfinder8/peakfinder8_pass.hpp"
#include "rashpa/kernel/peaks/peak_room.cuh"
#include "rashpa/kernel/rings/rings_device.cuh"

namespace rashpa::kernel::peakfinder8::cuda {

using kernel::cuda::kAllLanes;

__device__ __forceinline__ bool marked(const std::uint32_t* marks, std::uint32_t pixel) {
  return (marks[pixel / 32] >> (pixel % 32) & 1U) != 0;
}

/// Returns true for a pixel that may be the first of a peak: no bright pixel that touches it precedes it. The few
/// pixels that are not the first are found while the peak grows.
__device__ inline bool may_begin(const Known& known, const std::uint32_t* marks, std::uint32_t pixel) {
  const std::uint16_t number = known.panel_of[pixel];
  if (number == kNoPanel) return false;
  const DevicePanel panel = known.panels[number];
  std::uint32_t column = 0;
  const auto y = static_cast<std::int32_t>(known.by_width(pixel, column));
  const auto x = static_cast<std::int32_t>(column);
  if (!panel.inner(x, y)) return false;
  const auto before = [&](std::int32_t dx, std::int32_t dy) {
    return panel.inner(x + dx, y + dy) && marked(marks, pixel + dy * static_cast<std::int32_t>(known.width) + dx);
  };
  return !before(-1, 0) && !before(-1, -1) && !before(0, -1) && !before(1, -1);
}

/// The memory in which a warp grows a peak.
struct Room {
  std::uint32_t* members;  // [max_pixels]
  float* values;           // of them
  float* means;            // of their rings
};

/// Collects the bright pixels that touch, in the order of unit cpu, and returns their number. Returns 0 when they are
/// no peak, or another pixel is the first of them.
__device__ inline std::uint32_t grow(const Known& known, const std::uint32_t* marks, const DevicePanel& panel,
                                     std::uint32_t seed, const Room& room) {
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) room.members[0] = seed;
  __syncwarp();
  std::uint32_t count = 1;
  const auto dx = static_cast<std::int32_t>(lane % 3) - 1;
  const auto dy = static_cast<std::int32_t>(lane / 3) - 1;
  for (std::uint32_t at = 0; at < count; ++at) {
    std::uint32_t column = 0;
    const std::uint32_t row = known.by_width(room.members[at], column);
    const auto x = static_cast<std::int32_t>(column) + dx;
    const auto y = static_cast<std::int32_t>(row) + dy;
    const bool in = lane < 9 && lane != 4 && panel.holds(x, y);
    const std::uint32_t next = in ? static_cast<std::uint32_t>(y) * known.width + static_cast<std::uint32_t>(x) : 0;
    bool joins = in && marked(marks, next);
    if (__any_sync(kAllLanes, joins && next < seed && panel.inner(x, y))) return 0;
    for (std::uint32_t i = 0; i < count; ++i) joins &= room.members[i] != next;
    const unsigned joining = __ballot_sync(kAllLanes, joins);
    if (joining == 0) continue;
    const auto more = static_cast<std::uint32_t>(__popc(joining));
    if (count + more > known.max_pixels) return 0;
    if (joins) room.members[count + __popc(joining & ((1U << lane) - 1))] = next;
    __syncwarp();
    count += more;
  }
  return count < known.min_pixels ? 0 : count;
}

struct Local {
  double mean = 0, sigma = 0.01, largest = 0;
};

template <typename T>
__device__ Local around(const Known& known, const T* image, const RingLimit* limits, const DevicePanel& panel,
                        std::int64_t x, std::int64_t y) {
  const std::int32_t reach = known.reach;
  double sum = 0, squares = 0, largest = 0;
  std::uint32_t count = 0;
  const std::uint32_t side = 2 * static_cast<std::uint32_t>(reach);
  // Some pixels at once, so that a lane waits for memory three times for all of them.
  constexpr std::uint32_t kAtOnce = 5;
  for (std::uint32_t first = threadIdx.x % 32; first < side * side; first += 32 * kAtOnce) {
    std::size_t pixels[kAtOnce];
    std::uint16_t rings[kAtOnce];
    float values[kAtOnce], most[kAtOnce];
#pragma unroll
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t at = first + 32 * k;
      const std::int32_t dx = static_cast<std::int32_t>(at % side) - reach;
      const std::int32_t dy = static_cast<std::int32_t>(at / side) - reach;
      const bool in = at < side * side && panel.holds(x + dx, y + dy) && dx * dx + dy * dy <= reach * reach;
      pixels[k] = in ? static_cast<std::size_t>((y + dy) * known.width + x + dx) : 0;
      rings[k] = in ? known.ring_of[pixels[k]] : Rings::kNone;
    }
#pragma unroll
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const bool in = rings[k] != Rings::kNone;
      values[k] = in ? known.value(image[pixels[k]]) : NAN;
      most[k] = in ? limits[rings[k]].first : 0;
    }
#pragma unroll
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      if (!(values[k] < most[k])) continue;
      sum += double{values[k]};
      squares += double{values[k]} * double{values[k]};
      count += 1;
      largest = max(largest, double{values[k]});
    }
  }
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
    squares += __shfl_xor_sync(kAllLanes, squares, distance);
    count += __shfl_xor_sync(kAllLanes, count, distance);
    largest = max(largest, __shfl_xor_sync(kAllLanes, largest, distance));
  }
  Local found;
  found.largest = largest;
  if (count == 0) {
    const std::uint16_t ring = known.ring_of[y * known.width + x];
    found.mean = ring == Rings::kNone ? 0 : double{limits[ring].second};
    return found;
  }
  found.mean = sum / count;
  const double variance = squares / count - found.mean * found.mean;
  found.sigma = sqrt(variance > 0.0 ? variance : 0.0);
  return found;
}

/// Returns the number of the pixel nearest to `place`; −1 for NaN or a place very far away.
__device__ inline std::int64_t nearest(double place) { return fabs(place) < 1e15 ? llrint(place) : -1; }

/// The sums over the pixels of a peak, added in the order of unit cpu. Infinite values are left out.
struct Weighed {
  double weights = 0, x = 0, y = 0;
  double above = 0;  ///< sum of weights, each reduced by `base`
};
/// Computes the sums; all lanes get the same.
template <typename Weight>
__device__ Weighed weigh(const Known& known, const Room& room, std::uint32_t count, Weight weight, double base) {
  Weighed all;
  for (std::uint32_t first = 0; first < count; first += 32) {
    const std::uint32_t i = first + threadIdx.x % 32;
    Weighed mine;
    if (i < count && isfinite(room.values[i])) {
      std::uint32_t column = 0;
      const std::uint32_t row = known.by_width(room.members[i], column);
      mine.weights = weight(i);
      mine.x = mine.weights * static_cast<double>(column);
      mine.y = mine.weights * static_cast<double>(row);
      mine.above = mine.weights - base;
    }
    const auto here = static_cast<int>(min(count - first, 32U));
    for (int k = 0; k < here; ++k) {
      all.weights += __shfl_sync(kAllLanes, mine.weights, k);
      all.x += __shfl_sync(kAllLanes, mine.x, k);
      all.y += __shfl_sync(kAllLanes, mine.y, k);
      all.above += __shfl_sync(kAllLanes, mine.above, k);
    }
  }
  return all;
}
__device__ inline double largest_of(const Room& room, std::uint32_t count) {
  float largest = -INFINITY;
  for (std::uint32_t i = threadIdx.x % 32; i < count; i += 32) largest = fmaxf(largest, room.values[i]);
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, distance));
  }
  return largest;
}

/// Measures a peak; returns false when it is none. All lanes compute the same sums, in the order of unit cpu.
template <typename T>
__device__ bool measure(const Known& known, const T* image, const RingLimit* limits, const DevicePanel& panel,
                        const Room& room, std::uint32_t count, Peak& peak) {
  constexpr double kNoNoise = 1e-10;
  for (std::uint32_t i = threadIdx.x % 32; i < count; i += 32) {
    room.values[i] = known.value(image[room.members[i]]);
    room.means[i] = limits[known.ring_of[room.members[i]]].second;
  }
  __syncwarp();
  const Weighed all = weigh(
      known, room, count, [&](std::uint32_t i) { return fabs(double{room.values[i]} - double{room.means[i]}); }, 0);
  if (all.weights < kNoNoise) return false;
  const Local local = around(known, image, limits, panel, nearest(all.x / all.weights), nearest(all.y / all.weights));
  const Weighed found = weigh(
      known, room, count, [&](std::uint32_t i) { return double{room.values[i]}; }, local.mean);
  if (fabs(found.weights) < kNoNoise) return false;
  peak = Peak{};
  peak.pixels = count;
  peak.background = local.mean;
  peak.intensity = found.above;
  peak.largest = largest_of(room, count);
  peak.x = found.x / fabs(found.weights);
  peak.y = found.y / fabs(found.weights);
  peak.snr = local.sigma < kNoNoise ? 0 : peak.intensity / local.sigma;
  if (peak.snr < known.min_snr || peak.largest < local.largest) return false;
  return panel.holds(nearest(peak.x), nearest(peak.y));
}

/// The shared memory of a block while it finds peaks in kWords words of marks.
template <unsigned kWords>
struct Seeds {
  std::uint16_t pixel[kWords * 32];
  std::uint32_t count;
};

/// Finds the peaks that begin in words `first` to first + kWords of an image's marks. All threads of the block call it;
/// `warps` of its warps grow peaks one after another. `rooms` has 3 · max_pixels words for each of these warps.
template <unsigned kWords, typename T>
__device__ void find_peaks(const T* pixels, const Known& known, const std::uint32_t* marks, std::uint32_t words,
                           const RingLimit* limits, std::uint32_t image, std::uint32_t first, Seeds<kWords>& seeds,
                           std::uint32_t* rooms, unsigned warps, const kernel::cuda::PeakRoom& room) {
  const std::uint32_t word = first + threadIdx.x;
  std::uint32_t bits = threadIdx.x < kWords && word < words ? marks[word] : 0;
  if (!__syncthreads_or(bits != 0 ? 1 : 0)) return;
  if (threadIdx.x == 0) seeds.count = 0;
  __syncthreads();
  while (bits != 0) {
    const auto bit = static_cast<std::uint32_t>(__ffs(static_cast<int>(bits)) - 1);
    bits &= bits - 1;
    if (!may_begin(known, marks, word * 32 + bit)) continue;
    seeds.pixel[atomicAdd(&seeds.count, 1U)] = static_cast<std::uint16_t>(threadIdx.x * 32 + bit);
  }
  __syncthreads();
  const unsigned warp = threadIdx.x / 32;
  if (warp >= warps) return;
  std::uint32_t* const mine = rooms + std::size_t{3} * warp * known.max_pixels;
  auto* const values = reinterpret_cast<float*>(mine + known.max_pixels);
  const Room own{mine, values, values + known.max_pixels};
  for (std::uint32_t i = warp; i < seeds.count; i += warps) {
    const std::uint32_t seed = first * 32 + seeds.pixel[i];
    const std::uint16_t number = known.panel_of[seed];
    const DevicePanel panel = known.panels[number];
    __syncwarp();
    const std::uint32_t count = grow(known, marks, panel, seed, own);
    Peak peak;
    if (count == 0 || !measure(known, pixels, limits, panel, own, count, peak)) continue;
    // panels one after the other, in each row by row
    if (threadIdx.x % 32 == 0) room.add(image, std::uint64_t{number} << 32U | seed, peak);
  }
}

}  // namespace rashpa::kernel::peakfinder8::cuda
