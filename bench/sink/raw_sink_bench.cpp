// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/sink/factory.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::sink {
namespace {

/// Stacks of ten images of 16-bit words into raw files in $RASHPA_BENCH_FOLDER, until all are on the device. Arguments:
/// width and height; who writes; images of a run. Images of whole blocks are written from where they lie, others are
/// copied once.
void store_raw(benchmark::State& state) {
  constexpr std::uint32_t kStack = 10, kStacks = 4;  // of the ring
  const char* chosen = std::getenv("RASHPA_BENCH_FOLDER");
  const auto folder = std::filesystem::path(chosen != nullptr ? chosen : std::filesystem::temp_directory_path()) /
                      ("rashpa-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  Output output{.buffer = "bench",
                .width = static_cast<std::uint32_t>(state.range(0)),
                .height = static_cast<std::uint32_t>(state.range(0))};
  output.images = static_cast<std::uint64_t>(state.range(2));
  output.stack = kStack;
  const std::size_t image_bytes = output.image_bytes();
  const memory::Buffer ring(kStacks * kStack * image_bytes, memory::MemoryKind::huge);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i + 8 <= ring.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(ring.data() + i, &word, sizeof(word));
  }
  for ([[maybe_unused]] auto _ : state) {
    const auto sink = make_sink(RawOptions{.prefix = (folder / "run").string(),
                                           .images_per_file = 1000,
                                           .existing = Existing::replace,
                                           .io = static_cast<BlockWay>(state.range(1))},
                                output);
    sink->begin();
    Stack stack;
    stack.count = kStack;
    stack.images.resize(kStack);
    for (std::uint64_t n = 0; n < output.images; n += kStack, ++stack.number) {
      for (std::uint32_t i = 0; i < kStack; ++i) {
        stack.images[i].pixels = ring.data() + ((stack.number % kStacks) * kStack + i) * image_bytes;
        stack.images[i].decision = Decision::accepted;
      }
      put_and_mark(*sink, stack);
      if (auto* const polled = able<Polled>(*sink)) polled->poll();
    }
    sink->settle();
    if (sink->stats().images_written != output.images) state.SkipWithError(sink->error().c_str());
    state.PauseTiming();
    sink->close({.expected = output.images, .accepted = output.images, .written = output.images});
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * output.images * image_bytes));
  std::filesystem::remove_all(folder);
}
BENCHMARK(store_raw)
    ->ArgNames({"side", "io", "images"})
    ->Args({1024, 1, 1000})  // 2 MiB, io_uring
    ->Args({1024, 2, 1000})  // threads
    ->Args({1030, 1, 1000})  // no whole blocks: gathered
    ->Args({2048, 1, 250})   // 8 MiB
    ->Args({128, 1, 60000})  // 32 KiB
    ->Iterations(1)
    ->UseRealTime();

}  // namespace
}  // namespace rashpa::sink
