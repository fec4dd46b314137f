// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "peers.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/cpu_set.hpp"
#include "rashpa/memory/stream_copy.hpp"

namespace rashpa::link::bench {

namespace {

/// `copy_out`: as memcpy; `before_news`: before the other thread is told that a line is out.
template <typename Copy, typename Fence>
Result run_copies(const Load& load, Copy copy_out, Fence before_news) {
  constexpr std::uint64_t kBlocks = 64;  // lines between the two threads
  const std::size_t lines = (16U << 20) / load.line_bytes;
  const std::size_t bytes = lines * load.line_bytes;
  const memory::Buffer from(bytes, memory::MemoryKind::huge);
  const memory::Buffer to(bytes, memory::MemoryKind::huge);
  testing::fill(from.bytes(), 42);
  std::vector<std::byte> shared(kBlocks * load.line_bytes);
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> read{0};
  std::atomic<bool> stop{false};
  std::jthread source([&] {
    memory::place_this_thread("bench-source", load.source_processor);
    for (std::uint64_t n = 0; !stop; ++n) {
      while (n - read.load(std::memory_order_acquire) >= kBlocks && !stop) std::this_thread::yield();
      std::memcpy(&shared[n % kBlocks * load.line_bytes], from.data() + n % lines * load.line_bytes, load.line_bytes);
      written.store(n + 1, std::memory_order_release);
    }
  });
  Result result;
  std::jthread sink([&] {
    memory::place_this_thread("bench-sink", load.destination_processor);
    const std::int64_t start = now_ns();
    const std::int64_t end = start + static_cast<std::int64_t>(load.seconds * 1e9);
    std::uint64_t n = 0;
    while (now_ns() < end) {
      const std::uint64_t ready = written.load(std::memory_order_acquire);
      for (; n < ready; ++n) {
        copy_out(to.data() + n % lines * load.line_bytes, &shared[n % kBlocks * load.line_bytes], load.line_bytes);
        before_news();
        read.store(n + 1, std::memory_order_release);
      }
    }
    result.lines = n;
    result.gigabits_per_s = static_cast<double>(n * load.line_bytes) * 8 / static_cast<double>(now_ns() - start);
    stop = true;
  });
  sink.join();
  return result;
}

}  // namespace

Result run_memcpy(const Load& load) {
  return run_copies(
      load, [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }, [] {});
}

Result run_stream_copy(const Load& load) {
  return run_copies(
      load,
      [](std::byte* to, const std::byte* from, std::size_t bytes) {
        memory::stream_copy(to, {from, bytes});
      },
      [] { memory::stream_fence(); });
}

}  // namespace rashpa::link::bench
