// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): a rule says what it says on unit cpu.
#include <cuda_runtime_api.h>

#include "rashpa/kernel/rings/rings_cuda.hpp"
#include "rashpa/kernel/veto/veto_pass.hpp"

namespace rashpa::kernel::veto::cuda {

namespace {

constexpr unsigned kThreads = 64;

/// A thread an image.
__global__ void __launch_bounds__(kThreads) judge(const kernel::cuda::DeviceStack stack, const Operation* operations,
                                                  std::uint32_t count, std::uint32_t columns) {
  const std::uint32_t image = blockIdx.x * kThreads + threadIdx.x;
  if (image >= stack.count || stack.work[image] == 0) return;
  const Scalar* const numbers = stack.scalars + image * stack.scalars_stride - columns;
  if (holds(operations, count, numbers)) return;
  kernel::cuda::DeviceFinding& finding = stack.findings[image];
  finding.verdict = 1;
  finding.step = stack.step;
  stack.work[image] = 0;
}

}  // namespace

Pass::Pass(const Rule& rule, std::uint32_t columns)
    : count_(static_cast<std::uint32_t>(rule.operations().size())),
      columns_(columns),
      operations_(kernel::cuda::copy_to_device(rule.operations(), "the rule of a veto")) {}

int Pass::enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t /*bench*/, cudaStream_t stream) const noexcept {
  judge<<<(stack.count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(stack, operations_.as<Operation>(), count_,
                                                                          columns_);
  return cudaGetLastError();
}

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Rule& rule, std::uint32_t columns) {
  return std::make_unique<Pass>(rule, columns);
}

}  // namespace rashpa::kernel::veto::cuda
