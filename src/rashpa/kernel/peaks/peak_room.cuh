// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory to which CUDA kernels write peaks, in any order.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/peaks/peak.hpp"

namespace rashpa::kernel::cuda {

/// A peak with its key. The rows of an image are sorted by their keys, which are all different.
struct PeakEntry {
  std::uint64_t key;
  Peak peak;
};

/// The memory of a bench.
struct PeakRoom {
  PeakEntry* entries;     // [image][most]
  std::uint32_t* counts;  // [image]
  std::uint32_t most;

  __device__ void add(std::uint32_t image, std::uint64_t key, const Peak& peak) const {
    const std::uint32_t at = atomicAdd(&counts[image], 1U);
    if (at < most) entries[std::size_t{image} * most + at] = {key, peak};
  }
};

}  // namespace rashpa::kernel::cuda
