// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Owned resources of a CUDA device: each class one resource, taken in the constructor, given back in the destructor,
/// not copied. Constructors throw ResourceError that says what was asked for.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rashpa::memory::cuda {

/// Throws ResourceError "cuda: `what`: …" when `code` is an error.
void check(cudaError_t code, const std::string& what);

/// Makes `device` the calling thread's.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = 0;
};

/// Memory of the device, cleared to 0. 0 bytes: nothing.
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
  /// Bytes that the calling thread has taken so far, given back or not.
  [[nodiscard]] static std::size_t taken() noexcept;

 private:
  void* data_ = nullptr;
};

/// Pinned host memory that the device reads and writes at the same address, cleared to 0. 0 bytes: nothing.
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

/// Host memory that somebody else owns, pinned while this object lives, or another one of the same memory: a copy
/// engine of any device reads it without a detour. 0 bytes: nothing.
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

/// A graph that can be launched.
class Graph {
 public:
  Graph() = default;
  /// Captures what `enqueue` puts into `stream`; it returns the first error.
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
