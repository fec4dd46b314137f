// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/cuda/resources.hpp"

#include <fmt/core.h>

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::memory::cuda {

void check(cudaError_t code, const std::string& what) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // or the next launch would seem to have failed
  const char* advice = code == cudaErrorMemoryAllocation ? "; use fewer slots, a smaller stack or a smaller region"
                                                         : "; check the device with nvidia-smi";
  throw ResourceError(
      fmt::format("cuda: {}: {} ({}){}", what, cudaGetErrorString(code), cudaGetErrorName(code), advice));
}

DeviceScope::DeviceScope(int device) {
  check(cudaGetDevice(&before_), "which device is current");
  check(cudaSetDevice(device), fmt::format("use device {}", device));
}
DeviceScope::~DeviceScope() { cudaSetDevice(before_); }

namespace {
double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / 1048576.0; }
thread_local std::size_t taken_here = 0;
}  // namespace

DeviceMemory::DeviceMemory(std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMalloc(&data_, bytes), fmt::format("{:.1f} MiB of device memory", mebibytes(bytes)));
  if (const cudaError_t code = cudaMemset(data_, 0, bytes); code != cudaSuccess) {
    cudaFree(data_);
    check(code, "clear device memory");
  }
  taken_here += bytes;
}
std::size_t DeviceMemory::taken() noexcept { return taken_here; }
DeviceMemory::~DeviceMemory() { cudaFree(data_); }
DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}

PinnedMemory::PinnedMemory(std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaHostAlloc(&data_, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
        fmt::format("{:.1f} MiB of pinned host memory", mebibytes(bytes)));
  std::memset(data_, 0, bytes);
}
PinnedMemory::~PinnedMemory() { cudaFreeHost(data_); }

namespace {

struct Pinned {
  std::size_t bytes = 0;
  unsigned users = 0;
};

/// Pinned memory of this process, by its beginning: several devices read one buffer, which is pinned once.
struct AllPinned {
  std::mutex lock;
  std::map<void*, Pinned> places;
};
AllPinned& all_pinned() {
  static AllPinned all;
  return all;
}

}  // namespace

Pinning::Pinning(void* data, std::size_t bytes) {
  if (bytes == 0) return;
  AllPinned& all = all_pinned();
  const std::lock_guard lock(all.lock);
  const auto known = all.places.find(data);
  if (known == all.places.end() || known->second.bytes < bytes) {
    check(cudaHostRegister(data, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable),
          fmt::format("pin {:.1f} MiB of the RASHPA buffer", mebibytes(bytes)));
    all.places.insert_or_assign(data, Pinned{bytes, 0});
  }
  ++all.places[data].users;
  data_ = data;
}
Pinning::~Pinning() {
  if (data_ == nullptr) return;
  AllPinned& all = all_pinned();
  const std::lock_guard lock(all.lock);
  const auto known = all.places.find(data_);
  if (known == all.places.end() || --known->second.users > 0) return;
  all.places.erase(known);
  cudaHostUnregister(data_);
}

Stream::Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream"); }
Stream::~Stream() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}
Stream::Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}

void Graph::begin(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin to capture a graph");
}

void Graph::end(cudaStream_t stream, cudaError_t code) {
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
  const cudaError_t made =
      code == cudaSuccess && ended == cudaSuccess ? cudaGraphInstantiate(&graph_, captured, 0) : cudaSuccess;
  if (captured != nullptr) cudaGraphDestroy(captured);
  check(code, "capture a graph");
  check(ended, "end the capture of a graph");
  check(made, "make a graph ready");
  check(cudaGraphUpload(graph_, stream), "upload a graph");
}

Graph::~Graph() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
}
Graph::Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}

}  // namespace rashpa::memory::cuda
