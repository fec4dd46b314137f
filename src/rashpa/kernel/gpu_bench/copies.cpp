#include <algorithm>
#include <memory>

#include "rashpa/kernel/device_array.hpp"
#include "rashpa/kernel/gpu_bench/rows.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20U;
constexpr int kRepeats = 11;

struct FreeHost {
  void operator()(void* memory) const noexcept { cudaFreeHost(memory); }
};
using Pinned = std::unique_ptr<void, FreeHost>;

Pinned pinned(std::size_t bytes) {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
  std::fill_n(static_cast<unsigned char*>(memory), bytes, static_cast<unsigned char>(0x5A));
  return Pinned(memory);
}

/// A second stream that starts behind and ends before work of the first.
struct Beside {
  cudaStream_t stream = nullptr;
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;

  Beside() {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check_cuda(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), "cudaEventCreate");
    check_cuda(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), "cudaEventCreate");
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside() {
    cudaEventDestroy(join);
    cudaEventDestroy(fork);
    cudaStreamDestroy(stream);
  }
};

}  // namespace

Rows copy_floors() {
  const Pinned in = pinned(kBytes);
  const Pinned out = pinned(kBytes);
  const DeviceArray<std::byte> first(kBytes);
  const DeviceArray<std::byte> second(kBytes);
  const Beside beside;
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  const auto copy = [](void* to, const void* from, cudaStream_t in_stream) {
    check_cuda(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDefault, in_stream), "copy");
  };
  const Work to_device = [&](cudaStream_t s) { copy(first.data(), in.get(), s); };
  const Work to_host = [&](cudaStream_t s) { copy(out.get(), second.data(), s); };
  const Work both = [&](cudaStream_t s) {
    check_cuda(cudaEventRecord(beside.fork, s), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(beside.stream, beside.fork), "cudaStreamWaitEvent");
    copy(first.data(), in.get(), s);
    copy(out.get(), second.data(), beside.stream);
    check_cuda(cudaEventRecord(beside.join, beside.stream), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(s, beside.join), "cudaStreamWaitEvent");
  };
  const std::vector<double> us = medians_us({to_device, to_host, both}, kRepeats, stream);
  check_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  const auto gigabytes = [&](std::size_t i) { return static_cast<double>(kBytes) / us[i] * 1e-3; };
  return {{"pinned host memory to device, 256 MiB", gigabytes(0), "GB/s"},
          {"device to pinned host memory, 256 MiB", gigabytes(1), "GB/s"},
          {"pinned copies both ways at once, each way", gigabytes(2), "GB/s", "to the device alone", gigabytes(0)}};
}

}  // namespace rashpa::kernel::gpu_bench
