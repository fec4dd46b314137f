// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): a rule says what it says on unit cpu.
#include <cuda_runtime_api.h>

#include "rashpa/kernel/veto/rule.hpp"
#include "rashpa/kernel/veto/veto_cuda.hpp"

namespace rashpa::kernel::veto::cuda {

namespace {

constexpr unsigned kThreads = 64;

/// A thread an image.
__global__ void __launch_bounds__(kThreads) judge(const kernel::cuda::DeviceStack stack, std::uint32_t columns) {
  const std::uint32_t image = blockIdx.x * kThreads + threadIdx.x;
  if (image >= stack.count || stack.work[image] == 0) return;
  const Scalar* const numbers = stack.scalars + image * stack.scalars_stride - columns;
  if (holds(reinterpret_cast<const Operation*>(stack.limits), numbers)) return;
  kernel::cuda::DeviceFinding& finding = stack.findings[image];
  finding.verdict = 1;
  finding.step = stack.step;
  stack.work[image] = 0;
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  explicit Pass(std::uint32_t columns) : columns_(columns) {}
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t /*bench*/,
              cudaStream_t stream) const noexcept override {
    judge<<<(stack.count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(stack, columns_);
    return cudaGetLastError();
  }

 private:
  std::uint32_t columns_;
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(std::uint32_t columns) { return std::make_unique<Pass>(columns); }

}  // namespace rashpa::kernel::veto::cuda
