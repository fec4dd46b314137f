// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "rashpa/kernel/veto/veto_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::veto::cuda {

/// The step on a CUDA device. Its rule is open to the unit's resident kernel, which judges by itself.
class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Rule& rule, std::uint32_t columns);
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept override;
  [[nodiscard]] const Operation* operations() const noexcept { return operations_.as<Operation>(); }
  [[nodiscard]] std::uint32_t operation_count() const noexcept { return count_; }

 private:
  std::uint32_t count_, columns_;
  memory::cuda::DeviceMemory operations_;
};

}  // namespace rashpa::kernel::veto::cuda
