// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/device/settle_counts.hpp"

namespace rashpa::kernel::cuda {

namespace {

__global__ void settle(const DeviceStack stack, const std::uint32_t* counts) {
  const CountTap tap = *reinterpret_cast<const CountTap*>(stack.limits);
  for (std::uint32_t i = threadIdx.x; i < stack.count; i += blockDim.x) {
    if (stack.work[i] == 0) continue;
    DeviceFinding& finding = stack.findings[i];
    const std::uint32_t counted = counts != nullptr ? counts[i] : finding.counted;
    stack.scalars[i * stack.scalars_stride] = Scalar::of_count(counted);
    const std::uint8_t verdict = tap.verdict(counted);
    if (verdict == 0) continue;
    finding.verdict = verdict;
    finding.step = stack.step;
    stack.work[i] = 0;
  }
}

}  // namespace

cudaError_t settle_counts(const DeviceStack& stack, const std::uint32_t* counts, cudaStream_t stream) noexcept {
  constexpr unsigned kThreads = 128;
  settle<<<1, kThreads, 0, stream>>>(stack, counts);
  return cudaPeekAtLastError();
}

}  // namespace rashpa::kernel::cuda
