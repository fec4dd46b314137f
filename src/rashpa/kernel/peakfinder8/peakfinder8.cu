// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): the kernel computes the same as unit cpu, in its order.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/device/early_launch.cuh"
#include "rashpa/kernel/peakfinder8/peakfinder8_device.cuh"

namespace rashpa::kernel::peakfinder8::cuda {

namespace {

using kernel::cuda::MarkedRings;
using kernel::cuda::PeakRoom;

constexpr unsigned kFindThreads = 128;
constexpr unsigned kFindWarps = kFindThreads / 32;
constexpr std::uint32_t kMostPixels = 2048;  // of a peak

/// A block some pixels of an image.
template <typename T>
__global__ void __launch_bounds__(kFindThreads)
    find(const T* images, std::size_t stride, const std::uint8_t* work, const Known known,
         const MarkedRings::Seen rings, const PeakRoom room) {
  extern __shared__ std::uint32_t rooms[];
  __shared__ Seeds<kFindThreads> seeds;
  const std::uint32_t image = blockIdx.y;
  kernel::cuda::let_next_begin();
  kernel::cuda::wait_for_the_one_before();
  if (work[image] == 0) return;
  find_peaks<kFindThreads>(images + image * stride, known, rings.marks + std::size_t{image} * rings.words, rings.words,
                           rings.limits + std::size_t{image} * rings.rings, image, blockIdx.x * kFindThreads, seeds,
                           rooms, kFindWarps, room);
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

}  // namespace

Pass::Pass(const Config& config, const Setup& setup, const Rings& rings)
    : type_(setup.in.type),
      rounds_{config.min_snr, config.threshold},
      host_panels_(device_panels(checked(config), setup.shape)),
      rings_(rings, rounds_, setup),
      peaks_("peakfinder8", setup, config.max_peaks),
      panel_of_(kernel::cuda::copy_to_device(panel_map(host_panels_, setup.shape), "panels of pixels")),
      panels_(kernel::cuda::copy_to_device(host_panels_, "panels")),
      known_{.ring_of = rings_.seen(0).ring_of,
             .panel_of = panel_of_.as<std::uint16_t>(),
             .panels = panels_.as<DevicePanel>(),
             .width = setup.shape.width,
             .by_width = Divisor(setup.shape.width),
             .min_snr = config.min_snr,
             .min_pixels = config.min_pixels,
             .max_pixels = config.max_pixels,
             .reach = 2 * static_cast<std::int32_t>(config.local_bg_radius),
             .value = kernel::cuda::PixelValue::of(setup.in)},
      grow_bytes_(3 * kFindWarps * config.max_pixels * sizeof(std::uint32_t)),
      early_(kernel::cuda::begins_early(setup.stack)) {
  memory::cuda::check(kernel::cuda::with_image_type(type_,
                                                    [&]<typename T>(T) {
                                                      return cudaFuncSetAttribute(
                                                          find<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                          static_cast<int>(grow_bytes_));
                                                    }),
                      "shared memory of peakfinder8");
}

int Pass::enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  cudaError_t code = rings_.enqueue(stack, bench, stream);
  if (code != cudaSuccess) return code;
  const MarkedRings::Seen seen = rings_.seen(bench);
  code = kernel::cuda::with_image_type(type_, [&]<typename T>(T) {
    const std::uint32_t blocks = (seen.words + kFindThreads - 1) / kFindThreads;
    return kernel::cuda::launch_early(early_, find<T>, dim3(blocks, stack.count), kFindThreads, grow_bytes_, stream,
                                      reinterpret_cast<const T*>(stack.in), stack.in_stride / sizeof(T), stack.work,
                                      known_, seen, peaks_.room(bench));
  });
  return code != cudaSuccess ? code : peaks_.settle(stack, seen, bench, stream);
}

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup) {
  return std::make_unique<Pass>(config, setup, rings_of(config, setup.shape));
}

}  // namespace rashpa::kernel::peakfinder8::cuda
