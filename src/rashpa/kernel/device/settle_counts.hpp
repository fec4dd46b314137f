// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::cuda {

/// Computes the column and the verdict of a CountTap, which is DeviceStack::limits, from counts, image by image. Clears
/// `work` of images that are not kept. `counts` is [stack.count] in device memory; null: DeviceFinding::counted.
cudaError_t settle_counts(const DeviceStack& stack, const std::uint32_t* counts, cudaStream_t stream) noexcept;

}  // namespace rashpa::kernel::cuda
