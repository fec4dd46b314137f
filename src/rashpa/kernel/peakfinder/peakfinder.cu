// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): the kernel computes the same as unit cpu, in its order.
#include <algorithm>
#include <cmath>
#include <string>

#include "rashpa/kernel/device/early_launch.cuh"
#include "rashpa/kernel/peakfinder/peakfinder_cuda.hpp"
#include "rashpa/kernel/peaks/peak_room.cuh"
#include "rashpa/kernel/peaks/peaks_cuda.hpp"
#include "rashpa/kernel/sigma_clip/device_method.hpp"
#include "rashpa/kernel/sigma_clip/level.cuh"

namespace rashpa::kernel::peakfinder::cuda {

namespace {

using kernel::cuda::MarkedRings;
using kernel::cuda::PeakRoom;
using sigma_clip::Level;

constexpr unsigned kThreads = 128;
constexpr unsigned kChunk = kThreads * 32;  // pixels of a block

/// The constants of all images.
struct Known {
  const float* places;
  const std::uint16_t* panel_of;  // null: there are no panels
  std::int32_t width, height, half;
  std::uint32_t connected;
  double cutoff, noise;
  kernel::cuda::PixelValue value;
};

/// Returns false when the pixel is none of a peak's middle.
template <typename T>
__device__ bool peak_at(const Known& known, const sigma_clip::cuda::Seen<T>& seen, std::uint32_t middle, Peak& peak) {
  const auto bright = [&](float excess, const Level& level) {
    return excess > 0 && double{excess} >= known.cutoff * double{level.deviation};
  };
  Level level;
  const float excess = seen.excess(middle, level);
  if (isinf(excess) || !bright(excess, level)) return false;
  const auto x = static_cast<std::int32_t>(middle % static_cast<std::uint32_t>(known.width));
  const auto y = static_cast<std::int32_t>(middle / static_cast<std::uint32_t>(known.width));
  const std::int32_t half = known.half;
  if (x < half || y < half || x + half >= known.width || y + half >= known.height) return false;
  peak = Peak{};
  peak.largest = known.value(seen.pixels[middle]);
  peak.background = level.mean;
  double variance = 0, right = 0, down = 0;
  for (std::int32_t dy = -half; dy <= half; ++dy) {
    for (std::int32_t dx = -half; dx <= half; ++dx) {
      const auto pixel = static_cast<std::uint32_t>((y + dy) * known.width + x + dx);
      if (known.panel_of != nullptr && known.panel_of[middle] != known.panel_of[pixel]) continue;
      Level beside;
      const float more = seen.excess(pixel, beside);
      if (!(more > 0) || isinf(more)) continue;
      if (more > excess) return false;
      if (bright(more, beside)) peak.pixels += 1;
      peak.intensity += double{more};
      variance += double{beside.deviation} * double{beside.deviation};
      right += static_cast<double>(dx) * double{more};
      down += static_cast<double>(dy) * double{more};
    }
  }
  if (peak.pixels < known.connected) return false;
  peak.x = static_cast<double>(x) + right / peak.intensity;
  peak.y = static_cast<double>(y) + down / peak.intensity;
  peak.snr = variance > 0 ? peak.intensity / sqrt(variance) : 0;
  return true;
}

/// A block some pixels of an image: those that are marked, a thread each.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    find(const T* images, std::size_t stride, const std::uint8_t* work, const Known known,
         const MarkedRings::Seen rings, const PeakRoom room) {
  __shared__ std::uint16_t candidates[kChunk];
  __shared__ std::uint32_t count;
  const std::uint32_t image = blockIdx.y;
  kernel::cuda::let_next_begin();
  kernel::cuda::wait_for_the_one_before();
  if (work[image] == 0) return;
  const std::uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  std::uint32_t bits = word < rings.words ? rings.marks[std::size_t{image} * rings.words + word] : 0;
  if (threadIdx.x == 0) count = 0;
  if (!__syncthreads_or(bits != 0 ? 1 : 0)) return;
  for (; bits != 0; bits &= bits - 1) {
    const int bit = __ffs(static_cast<int>(bits)) - 1;
    candidates[atomicAdd(&count, 1U)] = static_cast<std::uint16_t>(threadIdx.x * 32 + static_cast<unsigned>(bit));
  }
  __syncthreads();
  const sigma_clip::cuda::Seen<T> seen{images + image * stride,
                                       rings.ring_of,
                                       known.places,
                                       rings.limits + std::size_t{image} * rings.rings,
                                       rings.rings,
                                       known.noise,
                                       known.value};
  for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const std::uint32_t pixel = blockIdx.x * kChunk + candidates[i];
    Peak peak;
    if (peak_at(known, seen, pixel, peak)) room.add(image, pixel, peak);
  }
}

std::vector<std::uint16_t> panels_of(const sigma_clip::Radii& radii) {
  const auto panels = radii.panel_of();
  return {panels.begin(), panels.end()};
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Config& config, const sigma_clip::Radii& radii, const Setup& setup)
      : setup_(setup),
        rings_(radii.rings(), sigma_clip::device_method(config, radii), setup),
        peaks_("peakfinder", setup, config.max_peaks),
        places_(sigma_clip::cuda::places_of(radii)),
        panel_of_(kernel::cuda::copy_to_device(panels_of(radii), "panels of pixels")),
        known_{.places = places_.as<float>(),
               .panel_of = radii.panel_of().empty() ? nullptr : panel_of_.as<std::uint16_t>(),
               .width = static_cast<std::int32_t>(setup.shape.width),
               .height = static_cast<std::int32_t>(setup.shape.height),
               .half = static_cast<std::int32_t>(config.patch / 2),
               .connected = config.connected,
               .cutoff = config.cutoff,
               .noise = config.noise,
               .value = kernel::cuda::PixelValue::of(setup.in)} {}

  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    cudaError_t code = rings_.enqueue(stack, bench, stream);
    if (code != cudaSuccess) return code;
    const MarkedRings::Seen seen = rings_.seen(bench);
    code = kernel::cuda::with_image_type(setup_.in.type, [&]<typename T>(T) {
      return kernel::cuda::launch_early(early_, find<T>, dim3((seen.words + kThreads - 1) / kThreads, stack.count),
                                        kThreads, 0, stream, reinterpret_cast<const T*>(stack.in),
                                        stack.in_stride / sizeof(T), stack.work, known_, seen, peaks_.room(bench));
    });
    return code != cudaSuccess ? code : peaks_.settle(stack, seen, bench, stream);
  }
  [[nodiscard]] TableView table(std::uint32_t place) const noexcept override { return peaks_.table(place); }
  [[nodiscard]] std::string failure() const override { return peaks_.failure(); }

 private:
  Setup setup_;
  MarkedRings rings_;
  kernel::cuda::PeakTable peaks_;
  memory::cuda::DeviceMemory places_, panel_of_;
  Known known_;
  bool early_ = kernel::cuda::begins_early(setup_.stack);
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const sigma_clip::Radii& radii,
                                                    const Setup& setup) {
  return std::make_unique<Pass>(config, radii, setup);
}

}  // namespace rashpa::kernel::peakfinder::cuda
