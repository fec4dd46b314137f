// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/kernel/csr/csr_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::csr::cuda {

/// The lists of all places in host memory; the list of place p begins at p · stride.
struct Lists {
  std::uint32_t* index = nullptr;
  std::byte* value = nullptr;
  std::size_t stride = 0;    ///< entries
  std::size_t capacity = 0;  ///< entries
};

/// The step on a CUDA device. The unit's resident kernel, which makes the lists itself, may read where they go.
class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Config& config, const Setup& setup);
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept override;
  [[nodiscard]] kernel::cuda::HostList list(std::uint32_t place) const noexcept override;
  [[nodiscard]] Lists lists() const noexcept {
    return {index_.as<std::uint32_t>(), value_.as<std::byte>(), stride_, capacity_};
  }

 private:
  std::int32_t threshold_;
  Setup setup_;
  std::size_t pixel_bytes_;
  std::size_t capacity_;
  std::size_t stride_;  // entries from one list to the next
  memory::cuda::PinnedMemory index_, value_;
  std::vector<memory::cuda::DeviceMemory> scratch_;  // by bench
};

}  // namespace rashpa::kernel::csr::cuda
