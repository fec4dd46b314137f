#pragma once
/// The Bragg veto on CUDA devices, for pipelines where the conversion does not count on its way.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"

namespace rashpa::kernel::bragg_count::cuda {

/// bright[i] += bright pixels of image i, at photons + i · stride (aligned to 16 bytes), for `count` images.
/// Asynchronous in the stream.
cudaError_t count(const std::int16_t* photons, std::size_t stride, std::uint32_t pixels, std::uint32_t count,
                  std::int16_t threshold, std::uint32_t* bright, cudaStream_t stream) noexcept;

}  // namespace rashpa::kernel::bragg_count::cuda
