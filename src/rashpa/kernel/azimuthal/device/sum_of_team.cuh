// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace rashpa::kernel::azimuthal::cuda {

/// Sums `value` over `team` lanes of a warp, a power of 2; the first lane gets the sum.
template <typename T>
__device__ T sum_of_team(T value, std::uint32_t team) {
  for (unsigned distance = team / 2; distance > 0; distance /= 2) value += __shfl_down_sync(~0U, value, distance);
  return value;
}

}  // namespace rashpa::kernel::azimuthal::cuda
