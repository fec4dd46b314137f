// SPDX-License-Identifier: Apache-2.0
#include <cuda/atomic>

#include "rashpa/link/pcie/cuda/end_of_image.hpp"

namespace rashpa::link::pcie {

namespace {

// A byte a thread: a record may lie at any offset.
__global__ void write_end(const __grid_constant__ EndOfImage end) {
  if (end.record != nullptr) end.record[threadIdx.x] = end.bytes.data()[threadIdx.x];
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (end.lock != nullptr) {
    // release, to the receiver's processor, behind the fence of all threads
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>(*end.lock).store(end.immediate,
                                                                                cuda::memory_order_release);
  }
  cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(*end.reached)  // release, to the source's thread
      .store(end.number, cuda::memory_order_release);
}

}  // namespace

cudaError_t enqueue(const EndOfImage& end, cudaStream_t stream) noexcept {
  write_end<<<1, FrameRecord::kBytes, 0, stream>>>(end);
  return cudaGetLastError();
}

}  // namespace rashpa::link::pcie
