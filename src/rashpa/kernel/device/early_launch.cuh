// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels that begin before the one in front of them in the stream has ended (programmatic dependent launch): the way
/// from one to the next costs less. Every thread of such a kernel waits for that end itself, before it reads results
/// from there, before it writes anything, and before it returns.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::cuda {

/// The kernel behind this one in the stream may begin, when all blocks say so and there is room for it.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/// Returns when the kernel before this one has ended.
__device__ __forceinline__ void wait_for_the_one_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Returns true when the current device can do so. Throws ResourceError.
inline bool can_begin_early() {
  int device = 0, major = 0;
  memory::cuda::check(cudaGetDevice(&device), "which device is current");
  memory::cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                      "what a device can do");
  return major >= 9;
}
/// Returns true when kernels of a stack of this many images should launch early: those of a single image, which leave
/// room on the device. Where stacks fill it, blocks that wait take the room of blocks that work
/// (bench/results/gpu_peaks.json).
inline bool begins_early(std::uint32_t stack) { return stack == 1 && can_begin_early(); }

/// Puts the kernel into the stream; `early`: it may begin before the one in front of it has ended.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_early(bool early, void (*kernel)(Parameters...), dim3 grid, unsigned threads, std::size_t shared,
                         cudaStream_t stream, Arguments&&... arguments) noexcept {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = grid;
  launch.blockDim = threads;
  launch.dynamicSmemBytes = shared;
  launch.stream = stream;
  launch.attrs = &attribute;
  launch.numAttrs = early ? 1 : 0;
  return cudaLaunchKernelEx(&launch, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace rashpa::kernel::cuda
