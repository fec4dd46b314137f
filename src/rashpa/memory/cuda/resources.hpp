// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Owners of resources of a CUDA device. Each class owns one resource, which the constructor takes and the destructor
/// frees; they cannot be copied. Constructors throw ResourceError that names the request.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rashpa::memory::cuda {

/// Throws ResourceError "cuda: `what`: …" when `code` is an error.
void check(cudaError_t code, const std::string& what);

/// Makes `device` the current device of the calling thread during its life.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = 0;
};

/// Device memory, cleared to 0. 0 bytes: no memory.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  template <typename T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  /// Returns the bytes that the calling thread has allocated so far, including those freed since.
  [[nodiscard]] static std::size_t taken() noexcept;

 private:
  void* data_ = nullptr;
};

/// Pinned host memory, cleared to 0, which the device reads and writes at the same address. 0 bytes: no memory.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  template <typename T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

/// Pins host memory of another owner as long as this object, or another one for the same memory, lives. Copy engines of
/// any device then read it directly. 0 bytes: no memory.
class Pinning {
 public:
  Pinning(void* data, std::size_t bytes);
  ~Pinning();
  Pinning(const Pinning&) = delete;
  Pinning& operator=(const Pinning&) = delete;

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A CUDA graph that can be launched.
class Graph {
 public:
  Graph() = default;
  /// Captures the work that `enqueue` puts into `stream`; `enqueue` returns the first error.
  template <typename Enqueue>
  Graph(cudaStream_t stream, const Enqueue& enqueue) {
    begin(stream);
    const cudaError_t code = enqueue();
    end(stream, code);
  }
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&&) = delete;
  [[nodiscard]] cudaError_t launch(cudaStream_t stream) const noexcept { return cudaGraphLaunch(graph_, stream); }

 private:
  static void begin(cudaStream_t stream);
  void end(cudaStream_t stream, cudaError_t code);
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace rashpa::memory::cuda
