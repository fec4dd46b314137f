// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Bragg veto on CUDA devices, for pipelines in which no other kernel counts bright pixels.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"

namespace rashpa::kernel::bragg_count::cuda {

/// Images at regular distances in device memory. Image i is counted when `work` is null or work[i] is not 0.
struct Batch {
  const void* images = nullptr;  ///< aligned to 16 bytes
  PixelFormat format{};
  std::size_t stride = 0;  ///< pixels from one image to the next, a multiple of 16 bytes
  std::uint32_t pixels = 0;
  const std::uint8_t* work = nullptr;
  std::uint32_t count = 0;
};

/// Adds the bright pixels of image i to bright[i]. Asynchronous in the stream.
cudaError_t count(const Batch& batch, std::int32_t threshold, std::uint32_t* bright, cudaStream_t stream) noexcept;

/// Makes the pass on the current device.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(std::int32_t threshold, const Setup& setup);

}  // namespace rashpa::kernel::bragg_count::cuda
