// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <vector>

#include "rashpa/kernel/roi_stats/roi_stats.hpp"

namespace rashpa::kernel::roi_stats {
namespace {

constexpr std::size_t kPixels = 1U << 22U;

template <auto kStats, typename T, PixelType kType>
void whole_image(benchmark::State& state) {
  const std::vector<T> image(kPixels, 3);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(kStats(image.data(), delivered(kType), kPixels).sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kPixels * sizeof(T)));
}
BENCHMARK(whole_image<stats, std::uint16_t, PixelType::u16>);
BENCHMARK(whole_image<stats, std::uint32_t, PixelType::u32>);
BENCHMARK(whole_image<stats_reference, std::uint16_t, PixelType::u16>);

/// Rows of a region, as a pass sees them. Argument: its width.
void rows(benchmark::State& state) {
  const std::vector<std::uint16_t> image(kPixels, 3);
  const auto width = static_cast<std::size_t>(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    Stats sum;
    for (std::size_t row = 0; row < 2048; ++row) {
      sum.add(stats(image.data() + row * 2048 + 7, delivered(PixelType::u16), width));
    }
    benchmark::DoNotOptimize(sum.sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2048 * width * 2));
}
BENCHMARK(rows)->Arg(20)->Arg(200)->Arg(2000);

}  // namespace
}  // namespace rashpa::kernel::roi_stats
