// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Arrays in the memory of the current CUDA device, for tests and benchmarks. All calls wait for the device and throw
/// on errors.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel {

template <class T>
class DeviceArray {
 public:
  /// Allocates `size` zeros.
  explicit DeviceArray(std::size_t size) : memory_(size * sizeof(T)), size_(size) {}
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { upload(values); }

  [[nodiscard]] T* data() const noexcept { return memory_.as<T>(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  void fill(int byte) { memory::cuda::check(cudaMemset(data(), byte, bytes()), "cudaMemset"); }
  void upload(const std::vector<T>& values, std::size_t at = 0) {
    memory::cuda::check(cudaMemcpy(data() + at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
                        "copy to the device");
  }
  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> values(size_);
    memory::cuda::check(cudaMemcpy(values.data(), data(), bytes(), cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }

 private:
  memory::cuda::DeviceMemory memory_;
  std::size_t size_;
};

}  // namespace rashpa::kernel
