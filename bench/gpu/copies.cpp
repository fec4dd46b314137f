// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "beside.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rows.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20U;
constexpr int kRepeats = 11;

}  // namespace

Rows copy_floors() {
  const memory::cuda::PinnedMemory in(kBytes);
  const memory::cuda::PinnedMemory out(kBytes);
  std::fill_n(in.as<unsigned char>(), kBytes, static_cast<unsigned char>(0x5A));
  const DeviceArray<std::byte> first(kBytes);
  const DeviceArray<std::byte> second(kBytes);
  const Beside beside;
  const memory::cuda::Stream stream;
  const auto copy = [](void* to, const void* from, cudaStream_t in_stream) {
    memory::cuda::check(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDefault, in_stream), "copy");
  };
  const Work to_device = [&](cudaStream_t s) { copy(first.data(), in.as<void>(), s); };
  const Work to_host = [&](cudaStream_t s) { copy(out.as<void>(), second.data(), s); };
  const Work both = [&](cudaStream_t s) {
    beside.start_behind(s);
    copy(first.data(), in.as<void>(), s);
    copy(out.as<void>(), second.data(), beside.get());
    beside.end_before(s);
  };
  const std::vector<double> us = medians_us({to_device, to_host, both}, kRepeats, stream.get());
  const auto gigabytes = [&](std::size_t i) { return static_cast<double>(kBytes) / us[i] * 1e-3; };
  return {{"pinned host memory to device, 256 MiB", gigabytes(0), "GB/s"},
          {"device to pinned host memory, 256 MiB", gigabytes(1), "GB/s"},
          {"pinned copies both ways at once, each way", gigabytes(2), "GB/s", "to the device alone", gigabytes(0)}};
}

}  // namespace rashpa::kernel::gpu_bench
