// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/faulty_kernel.hpp"

namespace rashpa::unit::cuda {

namespace {
__global__ void trap_on(const kernel::cuda::DeviceStack stack, std::uint16_t poison) {
  const std::uint32_t image = blockIdx.x;
  if (stack.work[image] == 0) return;
  if (*reinterpret_cast<const std::uint16_t*>(stack.in + image * stack.in_stride) == poison) __trap();
}
}  // namespace

int enqueue_fault(const kernel::cuda::DeviceStack& stack, std::uint16_t poison, CUstream_st* stream) noexcept {
  trap_on<<<stack.count, 1, 0, stream>>>(stack, poison);
  return cudaGetLastError();
}

}  // namespace rashpa::unit::cuda
