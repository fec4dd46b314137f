// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <vector>

#include "rashpa/sink/nxmx/hdf5_sink.hpp"

namespace rashpa::sink {
namespace {

/// Stacks of ten 1-megapixel images of photons into files, page cache included; the argument is the number of
/// compressing threads.
void store_photons(benchmark::State& state) {
  const auto folder = std::filesystem::temp_directory_path() / ("rashpa-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::mt19937 random(1);
  std::poisson_distribution<int> background(0.05);
  std::vector<std::int16_t> pixels(1 << 20);
  for (auto& pixel : pixels) pixel = static_cast<std::int16_t>(background(random));
  Hdf5Config config;
  config.prefix = (folder / "run").string();
  config.threads = static_cast<unsigned>(state.range(0));
  config.width = config.height = 1024;
  config.pixel = PixelType::i16;
  Stack stack;
  stack.count = 10;
  stack.images.resize(10);
  std::vector<ErrorReason> results(10);
  for (StackImage& image : stack.images) {
    image.pixels = reinterpret_cast<const std::byte*>(pixels.data());
    image.decision = Decision::accepted;
  }
  {
    Hdf5Sink sink(config);
    for ([[maybe_unused]] auto _ : state) {
      std::fill(results.begin(), results.end(), ErrorReason::none);
      sink.put(stack, results);
    }
    const SinkStats stats = sink.stats();
    state.SetBytesProcessed(static_cast<std::int64_t>(stats.bytes_written));
    state.counters["images_per_s"] =
        benchmark::Counter(static_cast<double>(stats.images_written), benchmark::Counter::kIsRate);
  }
  std::filesystem::remove_all(folder);
}
BENCHMARK(store_photons)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace rashpa::sink
