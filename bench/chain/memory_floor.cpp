// SPDX-License-Identifier: Apache-2.0
#include "memory_floor.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/memory/stream_copy.hpp"

namespace rashpa::bench {

namespace {

constexpr std::size_t kSourceImages = 64;  // more than caches hold
constexpr std::size_t kBenches = 3;        // stacks on their way to the device

}  // namespace

double memory_floor(const Moved& moved, double seconds) {
  using memory::cuda::check;
  const std::size_t part_bytes = moved.image_bytes / moved.parts;
  const std::size_t stack_bytes = moved.stack * moved.image_bytes;
  const std::uint64_t ring = moved.slots / moved.stack;  // stacks
  memory::Buffer source(kSourceImages * moved.image_bytes, memory::MemoryKind::huge);
  std::memset(source.data(), 0x5A, source.size());
  const memory::Buffer slots(ring * stack_bytes, memory::MemoryKind::huge, memory::Sharing::machine);
  const memory::cuda::Pinning pinning(slots.data(), slots.size());
  const memory::cuda::DeviceMemory device(kBenches * stack_bytes);
  std::array<memory::cuda::Stream, kBenches> streams;
  const std::uint64_t parts_of_stack = std::uint64_t{moved.stack} * moved.parts;
  std::vector<std::atomic<std::uint64_t>> arrived(ring);  // parts, of all stacks that were in the slot
  std::atomic<std::uint64_t> next{0};                     // part to be copied
  std::atomic<std::uint64_t> freed{0};                    // stacks that the device has read
  std::atomic<bool> ending{false};
  const auto copy = [&] {
    while (!ending) {
      const std::uint64_t part = next++;
      const std::uint64_t stack = part / parts_of_stack;
      while (stack >= freed.load(std::memory_order_acquire) + ring && !ending) pause_spinning();
      const std::size_t at = part % parts_of_stack * part_bytes;
      const std::size_t from = part % (kSourceImages * moved.parts) * part_bytes;
      memory::stream_copy(slots.data() + stack % ring * stack_bytes + at, {source.data() + from, part_bytes});
      memory::stream_fence();
      arrived[stack % ring].fetch_add(1, std::memory_order_release);
    }
  };
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < moved.threads; ++i) threads.emplace_back(copy);
  const auto limit = static_cast<std::int64_t>(seconds * 1e9);
  const std::int64_t begin = now_ns();
  std::int64_t warm = 0;  // when the first round of the ring was through
  std::int64_t last = begin;
  std::uint64_t stack = 0;
  for (; last - begin < limit; ++stack) {
    const std::uint64_t wanted = (stack / ring + 1) * parts_of_stack;
    while (arrived[stack % ring].load(std::memory_order_acquire) < wanted) pause_spinning();
    const cudaStream_t stream = streams[stack % kBenches].get();
    // The stack before it on this bench is through: its slot may be filled again.
    check(cudaStreamSynchronize(stream), "copies to the device");
    if (stack >= kBenches) freed.store(stack - kBenches + 1, std::memory_order_release);
    check(cudaMemcpyAsync(device.as<std::byte>() + stack % kBenches * stack_bytes,
                          slots.data() + stack % ring * stack_bytes, stack_bytes, cudaMemcpyHostToDevice, stream),
          "copy a stack to the device");
    last = now_ns();
    if (stack == ring) warm = last;
  }
  ending = true;
  return warm == 0 ? 0 : static_cast<double>((stack - ring) * stack_bytes) / (static_cast<double>(last - warm) * 1e-9);
}

}  // namespace rashpa::bench
