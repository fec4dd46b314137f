// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pixels of any type as float32 on CUDA devices, equal to pixel_value().
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::cuda {

/// Converts a pixel to its value; NaN where it is masked.
struct PixelValue {
  std::int64_t least = 0, most = 0;  // counts

  static PixelValue of(PixelFormat format) {
    if (format.type == PixelType::f32) return {};
    const PhotonRange range = photon_range(format);
    return {range.least, range.most};
  }
  template <typename T>
  __device__ __forceinline__ float operator()(T pixel) const {
    if constexpr (std::is_same_v<T, float>) {
      return pixel;
    } else {
      const auto value = static_cast<std::int64_t>(pixel);
      return value >= least && value <= most ? static_cast<float>(pixel) : NAN;
    }
  }
};

/// Calls `work` with a pixel of the type, float32 included.
template <typename Work>
cudaError_t with_image_type(PixelType type, Work work) {
  if (type == PixelType::f32) return work(float{});
  return with_type(type, work);
}

}  // namespace rashpa::kernel::cuda
