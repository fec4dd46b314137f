// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/cuda/wait_value.hpp"

#include "rashpa/core/error.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::memory::cuda {

WaitValue wait_value() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  constexpr unsigned kVersion = 12'000;
  check(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &function, kVersion, cudaEnableDefault, &found),
        "find cuStreamWaitValue32");
  if (function == nullptr || found != cudaDriverEntryPointSuccess) {
    throw ResourceError("cuda: this driver has no cuStreamWaitValue32; use trigger graph or a newer driver");
  }
  return reinterpret_cast<WaitValue>(function);
}

}  // namespace rashpa::memory::cuda
