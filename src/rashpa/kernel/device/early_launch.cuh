// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels that begin before their predecessor in the stream has ended (programmatic dependent launch), which shortens
/// the gap between them. Each thread of such a kernel waits for the predecessor's end before it reads its results,
/// before it writes anything, and before it returns.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::cuda {

/// Allows the next kernel of the stream to begin, once all blocks have called this and there is room for it.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/// Waits until the previous kernel has ended.
__device__ __forceinline__ void wait_for_the_one_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Returns true when the current device supports early launches. Throws ResourceError.
inline bool can_begin_early() {
  int device = 0, major = 0;
  memory::cuda::check(cudaGetDevice(&device), "which device is current");
  memory::cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                      "what a device can do");
  return major >= 9;
}
/// Returns true when kernels for stacks of this size should launch early: only single images, which leave room on the
/// device. Where stacks fill it, waiting blocks take the room of working ones (bench/results/gpu_peaks.json).
inline bool begins_early(std::uint32_t stack) { return stack == 1 && can_begin_early(); }

/// Launches the kernel into the stream. With `early` it may begin before its predecessor has ended.
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
