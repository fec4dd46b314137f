// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The background at a pixel on CUDA devices: the result of level_at(), computed in its order and without fused
/// multiply-adds.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "rashpa/kernel/photons/pixel_value.cuh"
#include "rashpa/kernel/rings/rings_cuda.hpp"
#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

namespace rashpa::kernel::sigma_clip::cuda {

/// An image on the device with its background.
template <typename T>
struct Seen {
  const T* pixels;
  const std::uint16_t* ring_of;
  const float* places;  // of each pixel in a ring
  const RingLimit* limits;
  std::uint32_t rings;
  double noise;
  kernel::cuda::PixelValue value;

  /// Returns the excess of a pixel over the background; NaN where it is masked or not used.
  __device__ float excess(std::size_t pixel, Level& level) const {
    if (ring_of[pixel] == Rings::kNone) return NAN;
    const float place = places[pixel];
    const auto bin = static_cast<std::uint32_t>(place);
    const std::uint32_t next = min(bin + 1, rings - 1);
    const float part = place - static_cast<float>(bin);
    const RingLimit here = limits[bin], there = limits[next], own = part < 0.5F ? here : there;
    const bool both = !isnan(here.first) && !isnan(there.first);
    level.mean = both ? here.first * (1 - part) + there.first * part : own.first;
    const float deviation = both ? here.second * (1 - part) + there.second * part : own.second;
    level.deviation = static_cast<float>(sqrt(double{deviation} * double{deviation} + noise * noise));
    return value(pixels[pixel]) - level.mean;
  }
};

/// Uploads the places of all pixels.
inline memory::cuda::DeviceMemory places_of(const Radii& radii) {
  const auto ring_of = radii.rings().ring_of();
  std::vector<float> places(ring_of.size());
  for (std::size_t pixel = 0; pixel < places.size(); ++pixel) {
    if (ring_of[pixel] != Rings::kNone) places[pixel] = radii.place(pixel);
  }
  return kernel::cuda::copy_to_device(places, "places of pixels between bins");
}

}  // namespace rashpa::kernel::sigma_clip::cuda
