// SPDX-License-Identifier: Apache-2.0
/// Stands in for cuda_source.cpp and cuda_images.cpp where the build leaves CUDA out.
#include "rashpa/core/components.hpp"
#include "rashpa/link/pcie/cuda/cuda_images.hpp"
#include "rashpa/link/pcie/cuda/cuda_source.hpp"

namespace rashpa::link::pcie {

struct CudaSource::Impl {
  std::string how;
};

void CudaSource::check(int /*device*/) { throw_left_out("pcie: engine", "cuda", "use engine cpu"); }

CudaSource::CudaSource(int device, std::span<const std::span<const std::byte>> /*frames*/) { check(device); }

std::unique_ptr<CopyDevice> CudaSource::make(std::shared_ptr<const RemoteMemory> /*memory*/) const { return nullptr; }

const std::string& CudaSource::how() const noexcept { return impl_->how; }

std::unique_ptr<memory::DeviceImages> make_cuda_images(int /*device*/, std::uint64_t /*bytes*/, Writers /*writers*/) {
  throw_left_out("receiver.memory: images in memory of a GPU", "cuda", "take the buffer in host memory");
}

}  // namespace rashpa::link::pcie
