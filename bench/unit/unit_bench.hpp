// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the parts of rashpa_cuda_unit_bench have in common, and those that have a file of their own.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../rows.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/cuda/cuda_unit.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit::bench {

namespace jungfrau = kernel::jungfrau;

/// JUNGFRAU 4M on one device and on all of the machine: converted and counted, then with sums over windows, too.
void dealt(std::uint64_t images);

/// JUNGFRAU 16M, of which one image takes long to cross one bus: on one device, stacks dealt to all, each image split
/// over all. Of a machine with one device it twice, which shows what meetings cost and nothing else.
void split(std::uint64_t images);

/// Rows as JSON.
inline bool json_rows = false;

inline void row(const std::string& what, double value, const char* unit, const std::string& against = "none",
                double against_value = 0) {
  measured::print({what, value, unit, against, against_value}, json_rows);
}

constexpr double kAllWithSpots = 0.02;

/// A ring of stacks whose images are there already.
struct Ring : StackRing {
  Ring(std::uint32_t width, std::uint32_t height, std::uint32_t stack, std::uint32_t stacks)
      : StackRing(width, height, stack, stacks, memory::MemoryKind::huge) {}
  /// Ten different images, in every place one of them: of how many of their pixels lie in spots, of the first and of
  /// the others.
  void fill(const jungfrau::Config& config, double first = 0.002, double others = 0) {
    std::vector<std::vector<std::uint16_t>> frames(10);
    std::vector<std::jthread> threads;
    for (std::size_t f = 0; f < frames.size(); ++f) {
      threads.emplace_back([&, f] { frames[f] = jungfrau::synthetic::frame(config, f == 0 ? first : others, f + 1); });
    }
    threads.clear();
    std::size_t next = 0;
    for (Stack& each : all) {
      for (StackImage& image : each.view()) {
        const auto& frame = frames[next++ % frames.size()];
        std::memcpy(image.raw, frame.data(), frame.size() * 2);
      }
    }
  }
};

inline Stack* take(Unit& unit) {
  Stack* stack = nullptr;
  while ((stack = unit.take()) == nullptr && unit.error().empty()) pause_spinning();
  if (stack == nullptr) throw ResourceError(unit.error());
  return stack;
}

/// GB/s from pinned host memory to the device, in pieces of one stack, over two streams.
inline double copy_rate(const Ring& ring, std::uint64_t images) {
  const std::size_t bytes = ring.stride * ring.layout.stack;
  const cuda::Pinning pinned(const_cast<std::byte*>(ring.memory.data()), ring.memory.size());
  const cuda::DeviceMemory device[2] = {cuda::DeviceMemory(bytes), cuda::DeviceMemory(bytes)};
  const cuda::Stream streams[2];
  const auto run = [&](std::uint64_t stacks) {
    for (std::uint64_t n = 0; n < stacks; ++n) {
      cudaMemcpyAsync(device[n % 2].as<void>(), ring.memory.data() + n % ring.layout.stacks * bytes, bytes,
                      cudaMemcpyHostToDevice, streams[n % 2].get());
    }
    cudaDeviceSynchronize();
  };
  run(4);
  const std::uint64_t stacks = std::max<std::uint64_t>(images / ring.layout.stack, 8);
  const std::int64_t start = now_ns();
  run(stacks);
  return static_cast<double>(stacks * bytes) / static_cast<double>(now_ns() - start);
}

}  // namespace rashpa::unit::bench
