// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): what is computed is what unit cpu computes, in its order.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/peak_room.cuh"
#include "rashpa/kernel/peakfinder8/peakfinder8_cuda.hpp"
#include "rashpa/kernel/peaks_cuda.hpp"
#include "rashpa/kernel/pixel_value.cuh"
#include "rashpa/kernel/rings_cuda.hpp"

namespace rashpa::kernel::peakfinder8::cuda {

namespace {

using kernel::cuda::MarkedRings;
using kernel::cuda::PeakRoom;

constexpr unsigned kFindThreads = 128;
constexpr unsigned kFindWarps = kFindThreads / 32;
constexpr unsigned kChunk = kFindThreads * 32;  // pixels that a block finds peaks in
constexpr std::uint32_t kMostPixels = 2048;     // of a peak
constexpr std::uint16_t kNoPanel = 0xFFFF;
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
  const std::uint16_t* ring_of;  // of each pixel
  const std::uint16_t* panel_of;
  const DevicePanel* panels;
  std::uint32_t width;
  double min_snr;
  std::uint32_t min_pixels, max_pixels;
  std::int32_t reach;  // of the local background
  kernel::cuda::PixelValue value;
};

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
  float* means;            // of their rings
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
    sum += __shfl_xor_sync(kAll, sum, distance);
    squares += __shfl_xor_sync(kAll, squares, distance);
    count += __shfl_xor_sync(kAll, count, distance);
    largest = max(largest, __shfl_xor_sync(kAll, largest, distance));
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

/// All lanes do the same sums, in the order of unit cpu. False: it is no peak.
template <typename T>
__device__ bool measure(const Known& known, const T* image, const RingLimit* limits, const DevicePanel& panel,
                        const Room& room, std::uint32_t count, Peak& peak) {
  constexpr double kNoNoise = 1e-10;
  for (std::uint32_t i = threadIdx.x % 32; i < count; i += 32) {
    room.values[i] = known.value(image[room.members[i]]);
    room.means[i] = limits[known.ring_of[room.members[i]]].second;
  }
  __syncwarp();
  double weights = 0, x = 0, y = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t pixel = room.members[i];
    const double weight = fabs(double{room.values[i]} - double{room.means[i]});
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
    find(const T* images, std::size_t stride, const std::uint8_t* work, const Known known,
         const MarkedRings::Seen rings, const PeakRoom room) {
  extern __shared__ std::uint32_t rooms[];
  __shared__ std::uint16_t seeds[kChunk];
  __shared__ std::uint32_t seed_count;
  const std::uint32_t image = blockIdx.y;
  if (work[image] == 0) return;
  const std::uint32_t* const marks = rings.marks + std::size_t{image} * rings.words;
  const std::uint32_t word = blockIdx.x * kFindThreads + threadIdx.x;
  std::uint32_t bits = word < rings.words ? marks[word] : 0;
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
  std::uint32_t* const mine = rooms + std::size_t{3} * warp * known.max_pixels;
  auto* const values = reinterpret_cast<float*>(mine + known.max_pixels);
  const Room own{mine, values, values + known.max_pixels};
  const T* const pixels = images + image * stride;
  const RingLimit* const limits = rings.limits + std::size_t{image} * rings.rings;
  for (std::uint32_t i = warp; i < seed_count; i += kFindWarps) {
    const std::uint32_t seed = blockIdx.x * kChunk + seeds[i];
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
      : type_(setup.in.type),
        host_panels_(device_panels(checked(config), setup.shape)),
        rings_(rings, SnrRounds{config.min_snr, config.threshold}, setup),
        peaks_("peakfinder8", setup, config.max_peaks),
        panel_of_(kernel::cuda::copy_to_device(panel_map(host_panels_, setup.shape), "panels of pixels")),
        panels_(kernel::cuda::copy_to_device(host_panels_, "panels")),
        known_{.ring_of = rings_.seen(0).ring_of,
               .panel_of = panel_of_.as<std::uint16_t>(),
               .panels = panels_.as<DevicePanel>(),
               .width = setup.shape.width,
               .min_snr = config.min_snr,
               .min_pixels = config.min_pixels,
               .max_pixels = config.max_pixels,
               .reach = 2 * static_cast<std::int32_t>(config.local_bg_radius),
               .value = kernel::cuda::PixelValue::of(setup.in)},
        grow_bytes_(3 * kFindWarps * config.max_pixels * sizeof(std::uint32_t)) {
    memory::cuda::check(kernel::cuda::with_image_type(type_,
                                                      [&]<typename T>(T) {
                                                        return cudaFuncSetAttribute(
                                                            find<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                            static_cast<int>(grow_bytes_));
                                                      }),
                        "shared memory of peakfinder8");
  }

  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    cudaError_t code = rings_.enqueue(stack, bench, stream);
    if (code == cudaSuccess) code = peaks_.begin(bench, stream);
    if (code != cudaSuccess) return code;
    const MarkedRings::Seen seen = rings_.seen(bench);
    code = kernel::cuda::with_image_type(type_, [&]<typename T>(T) {
      const std::uint32_t blocks = (seen.words + kFindThreads - 1) / kFindThreads;
      find<T><<<dim3(blocks, stack.count), kFindThreads, grow_bytes_, stream>>>(reinterpret_cast<const T*>(stack.in),
                                                                                stack.in_stride / sizeof(T), stack.work,
                                                                                known_, seen, peaks_.room(bench));
      return cudaGetLastError();
    });
    return code != cudaSuccess ? code : peaks_.settle(stack, bench, stream);
  }
  [[nodiscard]] TableView table(std::uint32_t place) const noexcept override { return peaks_.table(place); }
  [[nodiscard]] std::string failure() const override { return peaks_.failure(); }

 private:
  PixelType type_;
  std::vector<DevicePanel> host_panels_;
  MarkedRings rings_;
  kernel::cuda::PeakTable peaks_;
  memory::cuda::DeviceMemory panel_of_, panels_;
  Known known_;
  std::size_t grow_bytes_;
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup) {
  return std::make_unique<Pass>(config, setup, rings_of(config, setup.shape));
}

}  // namespace rashpa::kernel::peakfinder8::cuda
