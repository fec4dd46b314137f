// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The assembly on CUDA devices, which gather from converted images and give the bits of assemble_reference().
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/jungfrau/assembly/assembly.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::jungfrau::cuda {

class DeviceAssembly {
 public:
  /// Uploads the mapping. Throws ConfigError when there are more pixels than it can number, ResourceError when the
  /// device has no memory.
  DeviceAssembly(const Assembly& assembly, Output output, const Setup& setup);

  /// Returns the memory to which the images of a stack are converted, stride() pixels apart.
  [[nodiscard]] std::byte* converted(std::uint32_t bench) const noexcept { return converted_[bench].as<std::byte>(); }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  /// Enqueues the assembly of all images with work from converted() into DeviceStack::out.
  cudaError_t assemble(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept;

 private:
  Output output_;
  std::size_t stride_;
  std::uint32_t pixels_;                               // of the assembled image, rounded up to pairs
  memory::cuda::DeviceMemory origins_;                 // a word a pixel, for whole tiles
  std::vector<memory::cuda::DeviceMemory> converted_;  // by bench
};

}  // namespace rashpa::kernel::jungfrau::cuda
