// SPDX-License-Identifier: Apache-2.0
/// In place of cuda_source.cpp and cuda_images.cpp where nvcc was not found.
#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/cuda/cuda_images.hpp"
#include "rashpa/link/pcie/cuda/cuda_source.hpp"

namespace rashpa::link::pcie {

struct CudaSource::Impl {
  std::string how;
};

void CudaSource::check(int /*device*/) {
  throw ConfigError("pcie: this program was built without CUDA; use engine cpu, or build where nvcc is found");
}

CudaSource::CudaSource(int device, std::span<const std::span<const std::byte>> /*frames*/) { check(device); }

std::unique_ptr<CopyDevice> CudaSource::make(std::shared_ptr<const RemoteMemory> /*memory*/) const { return nullptr; }

const std::string& CudaSource::how() const noexcept { return impl_->how; }

std::unique_ptr<memory::DeviceImages> make_cuda_images(int /*device*/, std::uint64_t /*bytes*/) {
  throw ConfigError(
      "pcie: this program was built without CUDA, and no images lie in memory of a GPU; take the buffer in host "
      "memory, "
      "or build where nvcc is found");
}

}  // namespace rashpa::link::pcie
