// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"

namespace rashpa::kernel::peakfinder8 {
namespace {

constexpr Shape kShape{2068, 2164};
const Config kConfig{.threshold = 20, .beam_x = 1034, .beam_y = 1082};

/// Photons of a 4M detector: background that falls with the radius, 100 spots.
std::vector<std::uint16_t> image() {
  std::mt19937 random(1);
  std::vector<std::uint16_t> photons(kShape.pixels());
  for (std::uint32_t y = 0; y < kShape.height; ++y) {
    for (std::uint32_t x = 0; x < kShape.width; ++x) {
      const double r = std::hypot(x + 0.5 - kConfig.beam_x, y + 0.5 - kConfig.beam_y);
      photons[std::size_t{y} * kShape.width + x] =
          static_cast<std::uint16_t>(std::poisson_distribution<int>(0.2 + 6 * std::exp(-r / 300))(random));
    }
  }
  for (int spot = 0; spot < 100; ++spot) {
    const std::size_t at = (2 + random() % (kShape.height - 4)) * kShape.width + 2 + random() % (kShape.width - 4);
    for (const std::size_t pixel : {at, at + 1, at + kShape.width, at + kShape.width + 1}) photons[pixel] = 120;
  }
  return photons;
}

void find_peaks(benchmark::State& state) {
  const auto photons = image();
  const Rings rings = rings_of(kConfig, kShape);
  Finder finder(kConfig, kShape, rings);
  std::vector<Peak> peaks(2048);
  std::size_t found = 0;
  for ([[maybe_unused]] auto _ : state) {
    found = finder.find(photons.data(), delivered(PixelType::u16), peaks);
    benchmark::DoNotOptimize(found);
  }
  state.counters["peaks"] = static_cast<double>(found);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kShape.pixels() * 2));
}
BENCHMARK(find_peaks)->Unit(benchmark::kMillisecond);

/// What the background by radius is made of: counted, and as pixels are that cannot be counted.
void take_values(benchmark::State& state) {
  const auto photons = image();
  const std::vector<float> kev(photons.begin(), photons.end());
  const bool counted = state.range(0) != 0;
  const Rings rings = rings_of(kConfig, kShape);
  RingValues values(rings, kShape.width);
  for ([[maybe_unused]] auto _ : state) {
    counted ? values.take(photons.data(), delivered(PixelType::u16))
            : values.take(kev.data(), delivered(PixelType::f32));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kShape.pixels() * (counted ? 2 : 4)));
}
BENCHMARK(take_values)->ArgName("counted")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

void mark_image(benchmark::State& state) {
  const auto photons = image();
  const Rings rings = rings_of(kConfig, kShape);
  const std::vector<float> above(rings.count(), 20);
  std::vector<std::uint64_t> marks(kShape.pixels() / 64 + 1);
  for ([[maybe_unused]] auto _ : state) {
    mark_above(photons.data(), delivered(PixelType::u16), rings, above.data(), marks.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kShape.pixels() * 2));
}
BENCHMARK(mark_image)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rashpa::kernel::peakfinder8
