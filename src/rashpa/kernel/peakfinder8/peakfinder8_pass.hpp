// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/kernel/device/divisor.cuh"
#include "rashpa/kernel/peakfinder8/peakfinder8_cuda.hpp"
#include "rashpa/kernel/peaks/peaks_cuda.hpp"
#include "rashpa/kernel/photons/pixel_value.cuh"
#include "rashpa/kernel/rings/ring_limits.hpp"
#include "rashpa/kernel/rings/rings_cuda.hpp"

namespace rashpa::kernel::peakfinder8::cuda {

inline constexpr std::uint16_t kNoPanel = 0xFFFF;

struct DevicePanel {
  std::int32_t left, right, top, bottom;
  __host__ __device__ bool holds(std::int64_t x, std::int64_t y) const {
    return x >= left && x < right && y >= top && y < bottom;
  }
  /// Returns true inside the panel's edge, where a peak can begin.
  __host__ __device__ bool inner(std::int32_t x, std::int32_t y) const {
    return x > left && x < right - 1 && y > top && y < bottom - 1;
  }
};

/// The constants of all images, in device memory.
struct Known {
  const std::uint16_t* ring_of;  // of each pixel
  const std::uint16_t* panel_of;
  const DevicePanel* panels;
  std::uint32_t width;
  Divisor by_width;
  double min_snr;
  std::uint32_t min_pixels, max_pixels;
  std::int32_t reach;  // of the local background
  kernel::cuda::PixelValue value;
};

/// The step on a CUDA device. The unit's resident kernel, which does the same work itself, may read its parts.
class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Config& config, const Setup& setup, const Rings& rings);
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept override;
  [[nodiscard]] TableView table(std::uint32_t place) const noexcept override { return peaks_.table(place); }
  [[nodiscard]] std::string failure() const override { return peaks_.failure(); }

  [[nodiscard]] const Known& known() const noexcept { return known_; }
  [[nodiscard]] const SnrRounds& rounds() const noexcept { return rounds_; }
  [[nodiscard]] const kernel::cuda::MarkedRings& rings() const noexcept { return rings_; }
  [[nodiscard]] const kernel::cuda::PeakTable& peaks() const noexcept { return peaks_; }

 private:
  PixelType type_;
  SnrRounds rounds_;
  std::vector<DevicePanel> host_panels_;
  kernel::cuda::MarkedRings rings_;
  kernel::cuda::PeakTable peaks_;
  memory::cuda::DeviceMemory panel_of_, panels_;
  Known known_;
  std::size_t grow_bytes_;
  bool early_;
};

}  // namespace rashpa::kernel::peakfinder8::cuda
