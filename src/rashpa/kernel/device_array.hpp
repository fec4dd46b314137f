#pragma once
/// Arrays in the memory of the current CUDA device, for tests and benchmarks: everything here waits for the device, and
/// an error is an exception.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {

inline void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw ResourceError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)), "cudaMalloc");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { upload(values); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  DeviceArray& operator=(DeviceArray&&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  void fill(int byte) { check_cuda(cudaMemset(data_, byte, bytes()), "cudaMemset"); }
  void upload(const std::vector<T>& values, std::size_t at = 0) {
    check_cuda(cudaMemcpy(data_ + at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
               "copy to the device");
  }
  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> values(size_);
    check_cuda(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

}  // namespace rashpa::kernel
