// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): what is computed is what unit cpu computes, in its order.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8_cuda.hpp"
#include "rashpa/kernel/photons.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::peakfinder8::cuda {

namespace {

constexpr unsigned kRingThreads = 256;  // that look at a ring
constexpr unsigned kMarkThreads = 256;
constexpr unsigned kMarked = 8;  // pixels of a thread
constexpr unsigned kFindThreads = 128;
constexpr unsigned kFindWarps = kFindThreads / 32;
constexpr unsigned kChunk = kFindThreads * 32;  // pixels that a block finds peaks in
constexpr unsigned kMostInSharedMemory = 200 * 1024;
constexpr std::uint32_t kMostPixels = 2048;  // of a peak
constexpr std::uint16_t kNoPanel = 0xFFFF;
constexpr int kRounds = 5;
constexpr unsigned kColumns = 7;
constexpr unsigned kAll = ~0U;

struct DevicePanel {
  std::int32_t left, right, top, bottom;
  __device__ bool holds(std::int64_t x, std::int64_t y) const {
    return x >= left && x < right && y >= top && y < bottom;
  }
  /// Not at its edge: a peak can begin there.
  __device__ bool inner(std::int32_t x, std::int32_t y) const {
    return x > left && x < right - 1 && y > top && y < bottom - 1;
  }
};

/// What stays the same for all images.
struct Known {
  const std::uint32_t* order;    // pixels ring by ring
  const std::uint32_t* firsts;   // of each ring in it, and the end
  const std::uint16_t* ring_of;  // of each pixel
  const std::uint16_t* panel_of;
  const DevicePanel* panels;
  std::uint32_t rings, pixels, width, words;  // words: of marks of an image
  double min_snr, threshold;
  std::uint32_t min_pixels, max_pixels, max_peaks;
  std::int32_t reach;        // of the local background
  std::int64_t least, most;  // counts
};

/// A peak as it is found, and where its first pixel is: panels one after the other, in each row by row.
struct Entry {
  std::uint64_t key;
  Peak peak;
};

/// Of a bench.
struct Bench {
  float2* limits;         // [image][ring]: the limit, and the mean
  std::uint32_t* marks;   // [image][word], of 32 pixels
  Entry* entries;         // [image][max_peaks], in no order
  double* intensities;    // [image][max_peaks], in order
  std::uint32_t* counts;  // [image]
};

template <typename T>
__device__ __forceinline__ float value_of(T pixel, const Known& known) {
  if constexpr (std::is_same_v<T, float>) {
    return pixel;
  } else {
    const auto value = static_cast<std::int64_t>(pixel);
    return value >= known.least && value <= known.most ? static_cast<float>(pixel) : NAN;
  }
}

/// 16 bits fit the integers of a GPU, sums of their squares those of 64 bits; all others are summed in float64. Both
/// are exact for whole numbers.
template <typename T>
struct Sums {
  static constexpr bool kNarrow = std::is_integral_v<T> && sizeof(T) <= 2;
  std::conditional_t<kNarrow, long long, double> sum = 0;
  std::conditional_t<kNarrow, unsigned long long, double> squares = 0;
  std::uint32_t count = 0;
  __device__ __forceinline__ void add(float value) {
    if constexpr (kNarrow) {
      const auto whole = static_cast<int>(value);
      const auto size = static_cast<unsigned>(abs(whole));
      sum += whole;
      squares += size * size;  // below 2^32
    } else {
      sum += double{value};
      squares += double{value} * double{value};
    }
    count += 1;
  }
  __device__ __forceinline__ void add(const Sums& other) {
    sum += other.sum;
    squares += other.squares;
    count += other.count;
  }
};

/// A block a ring of an image. Its values stay in shared memory, as many as it holds; the others are read again.
template <typename T>
__global__ void __launch_bounds__(kRingThreads)
    limit_rings(const T* images, std::size_t stride, const std::uint8_t* work, const Known known, float2* limits,
                std::uint32_t room) {
  extern __shared__ float kept[];
  __shared__ Sums<T> of_warp[2][kRingThreads / 32];
  const std::uint32_t image = blockIdx.y, ring = blockIdx.x;
  if (work[image] == 0) return;
  const T* const pixels = images + image * stride;
  const std::uint32_t first = known.firsts[ring];
  const std::uint32_t count = known.firsts[ring + 1] - first;
  const std::uint32_t held = min(count, room);
#pragma unroll 4
  for (std::uint32_t at = threadIdx.x; at < held; at += kRingThreads) {
    kept[at] = value_of(pixels[known.order[first + at]], known);  // each thread reads only what it has put there
  }
  float low = -1e9F, high = 1e9F, mean_found = 0;
  for (int round = 0; round < kRounds; ++round) {
    const float low_before = low, high_before = high;
    Sums<T> mine;
    for (std::uint32_t at = threadIdx.x; at < count; at += kRingThreads) {
      const float value = at < held ? kept[at] : value_of(pixels[known.order[first + at]], known);
      if (value > low && value < high) mine.add(value);
    }
#pragma unroll
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      Sums<T> other;
      other.sum = __shfl_xor_sync(kAll, mine.sum, distance);
      other.squares = __shfl_xor_sync(kAll, mine.squares, distance);
      other.count = __shfl_xor_sync(kAll, mine.count, distance);
      mine.add(other);
    }
    if (threadIdx.x % 32 == 0) of_warp[round % 2][threadIdx.x / 32] = mine;
    __syncthreads();
    Sums<T> all;
#pragma unroll
    for (unsigned warp = 0; warp < kRingThreads / 32; ++warp) all.add(of_warp[round % 2][warp]);
    if (all.count == 0) {
      low = FLT_MIN;
      high = FLT_MAX;
      mean_found = 0;
    } else {
      const double mean = static_cast<double>(all.sum) / all.count;
      const double variance = static_cast<double>(all.squares) / all.count - mean * mean;
      const double reach = known.min_snr * sqrt(variance > 0.0 ? variance : 0.0);
      const double above = mean + reach;
      low = static_cast<float>(mean - reach);
      high = static_cast<float>(above > known.threshold ? above : known.threshold);
      mean_found = static_cast<float>(mean);
    }
    if (low == low_before && high == high_before) break;  // and so it stays
  }
  if (threadIdx.x == 0) limits[std::size_t{image} * known.rings + ring] = make_float2(high, mean_found);
}

/// A thread eight pixels: a byte of the marks, bit p of them pixel p.
template <typename T>
__global__ void __launch_bounds__(kMarkThreads) mark(const T* images, std::size_t stride, const std::uint8_t* work,
                                                     const Known known, const float2* limits, std::uint32_t* marks) {
  const std::uint32_t image = blockIdx.y;
  if (work[image] == 0) return;
  const std::uint32_t first = (blockIdx.x * kMarkThreads + threadIdx.x) * kMarked;
  if (first >= known.words * 32) return;
  const T* const pixels = images + image * stride;
  const float2* const of_ring = limits + std::size_t{image} * known.rings;
  unsigned bits = 0;
  if (first + kMarked <= known.pixels) {
    struct alignas(sizeof(T) * kMarked < 16 ? 8 : 16) Some {
      T pixel[kMarked];
    };
    struct alignas(16) Places {
      std::uint16_t ring[kMarked];
    };
    const Some some = *reinterpret_cast<const Some*>(pixels + first);
    const Places places = *reinterpret_cast<const Places*>(known.ring_of + first);
#pragma unroll
    for (unsigned k = 0; k < kMarked; ++k) {
      const std::uint16_t ring = places.ring[k];
      const bool above = ring != Rings::kNone && value_of(some.pixel[k], known) > of_ring[ring].x;
      bits |= above ? 1U << k : 0U;
    }
  } else {
    for (unsigned k = 0; k < kMarked && first + k < known.pixels; ++k) {
      const std::uint16_t ring = known.ring_of[first + k];
      if (ring != Rings::kNone && value_of(pixels[first + k], known) > of_ring[ring].x) bits |= 1U << k;
    }
  }
  reinterpret_cast<std::uint8_t*>(marks + std::size_t{image} * known.words)[first / kMarked] =
      static_cast<std::uint8_t>(bits);
}

__device__ __forceinline__ bool marked(const std::uint32_t* marks, std::uint32_t pixel) {
  return (marks[pixel / 32] >> (pixel % 32) & 1U) != 0;
}

/// The first pixel of a peak has no bright one before it that could be; others, few, are found not to be as they grow.
__device__ bool may_begin(const Known& known, const std::uint32_t* marks, std::uint32_t pixel) {
  const std::uint16_t number = known.panel_of[pixel];
  if (number == kNoPanel) return false;
  const DevicePanel panel = known.panels[number];
  const auto x = static_cast<std::int32_t>(pixel % known.width);
  const auto y = static_cast<std::int32_t>(pixel / known.width);
  if (!panel.inner(x, y)) return false;
  const auto before = [&](std::int32_t dx, std::int32_t dy) {
    return panel.inner(x + dx, y + dy) && marked(marks, pixel + dy * static_cast<std::int32_t>(known.width) + dx);
  };
  return !before(-1, 0) && !before(-1, -1) && !before(0, -1) && !before(1, -1);
}

/// What a warp grows a peak in.
struct Room {
  std::uint32_t* members;  // [max_pixels]
  float* values;           // of them
};

/// The bright pixels that touch, in the order of unit cpu; 0: they are no peak, or another pixel is the first of them.
__device__ std::uint32_t grow(const Known& known, const std::uint32_t* marks, const DevicePanel& panel,
                              std::uint32_t seed, const Room& room) {
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) room.members[0] = seed;
  __syncwarp();
  std::uint32_t count = 1;
  const auto dx = static_cast<std::int32_t>(lane % 3) - 1;
  const auto dy = static_cast<std::int32_t>(lane / 3) - 1;
  for (std::uint32_t at = 0; at < count; ++at) {
    const std::uint32_t member = room.members[at];
    const auto x = static_cast<std::int32_t>(member % known.width) + dx;
    const auto y = static_cast<std::int32_t>(member / known.width) + dy;
    const bool in = lane < 9 && lane != 4 && panel.holds(x, y);
    const std::uint32_t next = in ? static_cast<std::uint32_t>(y) * known.width + static_cast<std::uint32_t>(x) : 0;
    const bool bright = in && marked(marks, next);
    if (__any_sync(kAll, bright && next < seed && panel.inner(x, y))) return 0;
    unsigned beside = __ballot_sync(kAll, bright);
    while (beside != 0) {
      const int which = __ffs(static_cast<int>(beside)) - 1;
      beside &= beside - 1;
      const std::uint32_t one = __shfl_sync(kAll, next, which);
      bool taken = false;
      for (std::uint32_t i = lane; i < count; i += 32) taken |= room.members[i] == one;
      if (__any_sync(kAll, taken)) continue;
      if (count == known.max_pixels) return 0;
      if (lane == 0) room.members[count] = one;
      __syncwarp();
      ++count;
    }
  }
  return count < known.min_pixels ? 0 : count;
}

struct Local {
  double mean = 0, sigma = 0.01, largest = 0;
};

template <typename T>
__device__ Local around(const Known& known, const T* image, const float2* limits, const DevicePanel& panel,
                        std::int64_t x, std::int64_t y) {
  const std::int32_t reach = known.reach;
  double sum = 0, squares = 0, largest = 0;
  std::uint32_t count = 0;
  const std::uint32_t side = 2 * static_cast<std::uint32_t>(reach);
  for (std::uint32_t at = threadIdx.x % 32; at < side * side; at += 32) {
    const std::int32_t dx = static_cast<std::int32_t>(at % side) - reach;
    const std::int32_t dy = static_cast<std::int32_t>(at / side) - reach;
    if (!panel.holds(x + dx, y + dy) || dx * dx + dy * dy > reach * reach) continue;
    const auto pixel = static_cast<std::size_t>((y + dy) * known.width + x + dx);
    const std::uint16_t ring = known.ring_of[pixel];
    if (ring == Rings::kNone) continue;
    const float value = value_of(image[pixel], known);
    if (!(value < limits[ring].x)) continue;
    sum += double{value};
    squares += double{value} * double{value};
    count += 1;
    largest = max(largest, double{value});
  }
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(kAll, sum, distance);
    squares += __shfl_xor_sync(kAll, squares, distance);
    count += __shfl_xor_sync(kAll, count, distance);
    largest = max(largest, __shfl_xor_sync(kAll, largest, distance));
  }
  Local found;
  found.largest = largest;
  if (count == 0) {
    const std::uint16_t ring = known.ring_of[y * known.width + x];
    found.mean = ring == Rings::kNone ? 0 : double{limits[ring].y};
    return found;
  }
  found.mean = sum / count;
  const double variance = squares / count - found.mean * found.mean;
  found.sigma = sqrt(variance > 0.0 ? variance : 0.0);
  return found;
}

/// All lanes do the same sums, in the order of unit cpu. False: it is no peak.
template <typename T>
__device__ bool measure(const Known& known, const T* image, const float2* limits, const DevicePanel& panel,
                        const Room& room, std::uint32_t count, Peak& peak) {
  constexpr double kNoNoise = 1e-10;
  for (std::uint32_t i = threadIdx.x % 32; i < count; i += 32) {
    room.values[i] = value_of(image[room.members[i]], known);
  }
  __syncwarp();
  double weights = 0, x = 0, y = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t pixel = room.members[i];
    const double weight = fabs(double{room.values[i]} - double{limits[known.ring_of[pixel]].y});
    weights += weight;
    x += weight * static_cast<double>(pixel % known.width);
    y += weight * static_cast<double>(pixel / known.width);
  }
  if (weights < kNoNoise) return false;
  const Local local = around(known, image, limits, panel, llrint(x / weights), llrint(y / weights));
  peak = Peak{};
  peak.pixels = count;
  peak.largest = -INFINITY;
  peak.background = local.mean;
  double values = 0;
  x = 0;
  y = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t pixel = room.members[i];
    const double value{room.values[i]};
    peak.intensity += value - local.mean;
    peak.largest = max(peak.largest, value);
    values += value;
    x += value * static_cast<double>(pixel % known.width);
    y += value * static_cast<double>(pixel / known.width);
  }
  if (fabs(values) < kNoNoise) return false;
  peak.x = x / fabs(values);
  peak.y = y / fabs(values);
  peak.snr = local.sigma < kNoNoise ? 0 : peak.intensity / local.sigma;
  if (peak.snr < known.min_snr || peak.largest < local.largest) return false;
  return panel.holds(llrint(peak.x), llrint(peak.y));
}

/// A block some pixels of an image; each of its warps grows one peak after the other.
template <typename T>
__global__ void __launch_bounds__(kFindThreads)
    find(const T* images, std::size_t stride, const std::uint8_t* work, const Known known, const Bench bench) {
  extern __shared__ std::uint32_t rooms[];
  __shared__ std::uint16_t seeds[kChunk];
  __shared__ std::uint32_t seed_count;
  const std::uint32_t image = blockIdx.y;
  if (work[image] == 0) return;
  const std::uint32_t* const marks = bench.marks + std::size_t{image} * known.words;
  const std::uint32_t word = blockIdx.x * kFindThreads + threadIdx.x;
  std::uint32_t bits = word < known.words ? marks[word] : 0;
  if (!__syncthreads_or(bits != 0 ? 1 : 0)) return;
  if (threadIdx.x == 0) seed_count = 0;
  __syncthreads();
  while (bits != 0) {
    const auto bit = static_cast<std::uint32_t>(__ffs(static_cast<int>(bits)) - 1);
    bits &= bits - 1;
    if (!may_begin(known, marks, word * 32 + bit)) continue;
    seeds[atomicAdd(&seed_count, 1U)] = static_cast<std::uint16_t>(threadIdx.x * 32 + bit);
  }
  __syncthreads();
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t* const mine = rooms + std::size_t{2} * warp * known.max_pixels;
  const Room room{mine, reinterpret_cast<float*>(mine + known.max_pixels)};
  const T* const pixels = images + image * stride;
  const float2* const limits = bench.limits + std::size_t{image} * known.rings;
  for (std::uint32_t i = warp; i < seed_count; i += kFindWarps) {
    const std::uint32_t seed = blockIdx.x * kChunk + seeds[i];
    const std::uint16_t number = known.panel_of[seed];
    const DevicePanel panel = known.panels[number];
    __syncwarp();
    const std::uint32_t count = grow(known, marks, panel, seed, room);
    Peak peak;
    if (count == 0 || !measure(known, pixels, limits, panel, room, count, peak)) continue;
    if (threadIdx.x % 32 != 0) continue;
    const std::uint32_t at = atomicAdd(&bench.counts[image], 1U);
    if (at >= known.max_peaks) continue;
    bench.entries[std::size_t{image} * known.max_peaks + at] = {std::uint64_t{number} << 32U | seed, peak};
  }
}

/// Puts the rows of an image in order: a thread a peak. `table`: of place 0.
__global__ void put_in_order(const kernel::cuda::DeviceStack stack, const Known known, const Bench bench,
                             Scalar* table) {
  const std::uint32_t image = blockIdx.y;
  if (stack.work[image] == 0) return;
  const std::uint32_t count = bench.counts[image];
  if (count > known.max_peaks) return;
  const Entry* const entries = bench.entries + std::size_t{image} * known.max_peaks;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const std::uint64_t key = entries[i].key;
    std::uint32_t rank = 0;
    for (std::uint32_t other = 0; other < count; ++other) rank += entries[other].key < key ? 1 : 0;
    const Peak& peak = entries[i].peak;
    bench.intensities[std::size_t{image} * known.max_peaks + rank] = peak.intensity;
    Scalar* const row = table + ((std::size_t{stack.place} + image) * known.max_peaks + rank) * kColumns;
    row[0] = Scalar::of_real(peak.x);
    row[1] = Scalar::of_real(peak.y);
    row[2] = Scalar::of_real(peak.intensity);
    row[3] = Scalar::of_real(peak.snr);
    row[4] = Scalar::of_count(peak.pixels);
    row[5] = Scalar::of_real(peak.largest);
    row[6] = Scalar::of_real(peak.background);
  }
}

/// A warp an image. `found`: of place 0.
__global__ void settle(const kernel::cuda::DeviceStack stack, const Known known, const Bench bench,
                       std::uint32_t* found, std::uint32_t* too_many) {
  const std::uint32_t image = blockIdx.x;
  if (stack.work[image] == 0) return;
  const std::uint32_t count = bench.counts[image];
  const bool failed = count > known.max_peaks;
  const double* const intensities = bench.intensities + std::size_t{image} * known.max_peaks;
  double sum = 0;
  for (std::uint32_t first = 0; first < count && !failed; first += 32) {
    const std::uint32_t here = min(count - first, 32U);
    const double mine = threadIdx.x < here ? intensities[first + threadIdx.x] : 0;
    for (std::uint32_t k = 0; k < here; ++k) sum += __shfl_sync(kAll, mine, static_cast<int>(k));
  }
  if (threadIdx.x != 0) return;
  found[stack.place + image] = failed ? 0 : count;
  Scalar* const scalars = stack.scalars + image * stack.scalars_stride;
  scalars[0] = Scalar::of_count(count);
  scalars[1] = Scalar::of_real(sum);
  if (!failed) return;
  *too_many = count;
  stack.findings[image].failed = static_cast<std::uint8_t>(stack.step + 1);
  stack.work[image] = 0;
}

template <typename T>
memory::cuda::DeviceMemory copied(const std::vector<T>& values) {
  memory::cuda::DeviceMemory memory(values.size() * sizeof(T));
  memory::cuda::check(cudaMemcpy(memory.as<void>(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
                      "what peakfinder8 knows of pixels");
  return memory;
}

std::vector<std::uint32_t> order_of(const Rings& rings) {
  std::vector<std::uint32_t> next(rings.first().begin(), rings.first().begin() + rings.count());
  std::vector<std::uint32_t> order(rings.first()[rings.count()]);
  for (std::size_t pixel = 0; pixel < rings.ring_of().size(); ++pixel) {
    const std::uint16_t ring = rings.ring_of()[pixel];
    if (ring != Rings::kNone) order[next[ring]++] = static_cast<std::uint32_t>(pixel);
  }
  return order;
}

std::vector<DevicePanel> device_panels(const Config& config, const Shape& shape) {
  std::vector<DevicePanel> panels;
  for (const Panel& panel : peakfinder8::panels_of(config, shape)) {
    panels.push_back({static_cast<std::int32_t>(panel.left), static_cast<std::int32_t>(panel.right),
                      static_cast<std::int32_t>(panel.top), static_cast<std::int32_t>(panel.bottom)});
  }
  return panels;
}

std::vector<std::uint16_t> panel_map(const std::vector<DevicePanel>& panels, const Shape& shape) {
  if (panels.size() >= kNoPanel) {
    throw ConfigError("kernel peakfinder8: " + std::to_string(panels.size()) + " panels; " +
                      std::to_string(kNoPanel - 1) + " at most on unit cuda");
  }
  std::vector<std::uint16_t> map(shape.pixels(), kNoPanel);
  for (std::size_t number = 0; number < panels.size(); ++number) {
    const DevicePanel& panel = panels[number];
    for (std::int32_t y = panel.top; y < panel.bottom; ++y) {
      for (std::int32_t x = panel.left; x < panel.right; ++x) {
        std::uint16_t& there = map[static_cast<std::size_t>(y) * shape.width + static_cast<std::size_t>(x)];
        if (there != kNoPanel) {
          throw ConfigError("kernel peakfinder8: geometry: pixel " + std::to_string(x) + ", " + std::to_string(y) +
                            " lies in two panels; unit cuda needs it in one");
        }
        there = static_cast<std::uint16_t>(number);
      }
    }
  }
  return map;
}

const Config& checked(const Config& config) {
  if (config.max_pixels <= kMostPixels) return config;
  throw ConfigError("kernel peakfinder8: max_pixels: " + std::to_string(config.max_pixels) + "; " +
                    std::to_string(kMostPixels) + " at most on unit cuda");
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Config& config, const Setup& setup, const Rings& rings)
      : setup_(setup),
        host_panels_(device_panels(checked(config), setup.shape)),
        order_(copied(order_of(rings))),
        firsts_(copied(std::vector<std::uint32_t>(rings.first().begin(), rings.first().end()))),
        ring_of_(copied(std::vector<std::uint16_t>(rings.ring_of().begin(), rings.ring_of().end()))),
        panel_of_(copied(panel_map(host_panels_, setup.shape))),
        panels_(copied(host_panels_)),
        table_(std::size_t{setup.places} * config.max_peaks * kColumns * sizeof(Scalar)),
        found_((setup.places + std::size_t{1}) * sizeof(std::uint32_t)) {
    const PixelFormat format = setup.in;
    const bool real = format.type == PixelType::f32;
    const PhotonRange range = real ? PhotonRange{} : photon_range(format);
    const auto pixels = static_cast<std::uint32_t>(setup.shape.pixels());
    known_ = {.order = order_.as<std::uint32_t>(),
              .firsts = firsts_.as<std::uint32_t>(),
              .ring_of = ring_of_.as<std::uint16_t>(),
              .panel_of = panel_of_.as<std::uint16_t>(),
              .panels = panels_.as<DevicePanel>(),
              .rings = rings.count(),
              .pixels = pixels,
              .width = setup.shape.width,
              .words = pixels / 32 + 1,
              .min_snr = config.min_snr,
              .threshold = config.threshold,
              .min_pixels = config.min_pixels,
              .max_pixels = config.max_pixels,
              .max_peaks = config.max_peaks,
              .reach = 2 * static_cast<std::int32_t>(config.local_bg_radius),
              .least = range.least,
              .most = range.most};
    std::uint32_t longest = 0;
    for (std::uint32_t ring = 0; ring < rings.count(); ++ring) {
      longest = std::max(longest, rings.first()[ring + 1] - rings.first()[ring]);
    }
    room_ = std::min<std::uint32_t>(longest, kMostInSharedMemory / sizeof(float));
    room_bytes_ = room_ * sizeof(float);
    grow_bytes_ = 2 * kFindWarps * config.max_pixels * sizeof(std::uint32_t);
    static_cast<void>(for_pixels([&]<typename T>(T) {
      const auto bytes = [](std::size_t size) { return static_cast<int>(size); };
      memory::cuda::check(
          cudaFuncSetAttribute(limit_rings<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes(room_bytes_)),
          "shared memory of peakfinder8");
      memory::cuda::check(
          cudaFuncSetAttribute(find<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes(grow_bytes_)),
          "shared memory of peakfinder8");
      return cudaSuccess;
    }));
    const std::size_t stack = setup.stack;
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      limits_.emplace_back(stack * known_.rings * sizeof(float2));
      marks_.emplace_back(stack * known_.words * sizeof(std::uint32_t));
      entries_.emplace_back(stack * known_.max_peaks * sizeof(Entry));
      intensities_.emplace_back(stack * known_.max_peaks * sizeof(double));
      counts_.emplace_back(stack * sizeof(std::uint32_t));
    }
  }

  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    const Bench own{limits_[bench].as<float2>(), marks_[bench].as<std::uint32_t>(), entries_[bench].as<Entry>(),
                    intensities_[bench].as<double>(), counts_[bench].as<std::uint32_t>()};
    cudaError_t code = cudaMemsetAsync(own.counts, 0, stack.count * sizeof(std::uint32_t), stream);
    if (code != cudaSuccess) return code;
    code = for_pixels([&]<typename T>(T) {
      const auto* const images = reinterpret_cast<const T*>(stack.in);
      const std::size_t stride = stack.in_stride / sizeof(T);
      const auto tiles = [](std::uint32_t all, std::uint32_t one) { return (all + one - 1) / one; };
      limit_rings<T><<<dim3(known_.rings, stack.count), kRingThreads, room_bytes_, stream>>>(images, stride, stack.work,
                                                                                             known_, own.limits, room_);
      mark<T><<<dim3(tiles(known_.words * 32, kMarkThreads * kMarked), stack.count), kMarkThreads, 0, stream>>>(
          images, stride, stack.work, known_, own.limits, own.marks);
      find<T><<<dim3(tiles(known_.words, kFindThreads), stack.count), kFindThreads, grow_bytes_, stream>>>(
          images, stride, stack.work, known_, own);
      return cudaGetLastError();
    });
    if (code != cudaSuccess) return code;
    constexpr std::uint32_t kOrderThreads = 128, kMostBlocks = 64;
    const std::uint32_t blocks = std::min((known_.max_peaks + kOrderThreads - 1) / kOrderThreads, kMostBlocks);
    put_in_order<<<dim3(blocks, stack.count), kOrderThreads, 0, stream>>>(stack, known_, own, table_.as<Scalar>());
    auto* const found = found_.as<std::uint32_t>();
    settle<<<stack.count, 32, 0, stream>>>(stack, known_, own, found, found + setup_.places);
    return cudaGetLastError();
  }
  [[nodiscard]] TableView table(std::uint32_t place) const noexcept override {
    return {table_.as<Scalar>() + std::size_t{place} * known_.max_peaks * kColumns, found_.as<std::uint32_t>()[place]};
  }
  [[nodiscard]] std::string failure() const override {
    const std::uint32_t found = static_cast<const volatile std::uint32_t*>(found_.as<std::uint32_t>())[setup_.places];
    if (found == 0) return {};
    return "kernel peakfinder8: " + std::to_string(found) + " peaks are found in an image, and its table holds " +
           std::to_string(known_.max_peaks) + "; set a larger max_peaks";
  }

 private:
  template <typename Work>
  cudaError_t for_pixels(Work work) const {
    if (setup_.in.type == PixelType::f32) return work(float{});
    return with_type(setup_.in.type, work);
  }

  Setup setup_;
  std::vector<DevicePanel> host_panels_;
  memory::cuda::DeviceMemory order_, firsts_, ring_of_, panel_of_, panels_;
  memory::cuda::PinnedMemory table_;  // Scalar [place][row][column]
  memory::cuda::PinnedMemory found_;  // by place; then how many were too many
  Known known_{};
  std::uint32_t room_ = 0;
  std::size_t room_bytes_ = 0, grow_bytes_ = 0;
  std::vector<memory::cuda::DeviceMemory> limits_, marks_, entries_, intensities_, counts_;  // by bench
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup) {
  return std::make_unique<Pass>(config, setup, rings_of(config, setup.shape));
}

}  // namespace rashpa::kernel::peakfinder8::cuda
