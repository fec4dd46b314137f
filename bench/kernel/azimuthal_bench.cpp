// SPDX-License-Identifier: Apache-2.0
/// Integration of a stack of 16 images of 4 megapixels, 1000 bins, one thread, beside reading them (the floor): bytes
/// of pixels a second. The argument is the part of the pixels that hold photons, in percent.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::azimuthal {
namespace {

constexpr std::uint32_t kWidth = 2048;
constexpr std::size_t kPixels = std::size_t{kWidth} * kWidth, kImages = 16, kBins = 1000, kTask = 65536;

Config rings(Errors errors) {
  Config config{.errors = errors};
  config.width = kWidth;
  for (std::size_t bin = 0; bin < kBins; ++bin) config.radial_axis.push_back(static_cast<double>(bin));
  config.bins.resize(kPixels);
  for (std::size_t p = 0; p < kPixels; ++p) {
    const std::size_t row = p / kWidth, column = p % kWidth;
    const double radius = std::hypot(static_cast<double>(column) - 1024, static_cast<double>(row) - 1024);
    config.bins[p] = static_cast<std::uint32_t>(radius / 1449 * kBins);
  }
  config.norm.assign(kPixels, 1);
  return config;
}

/// Each pixel in two bins, as where a bin is about as wide as a pixel.
Config split(Config config) {
  for (const std::uint32_t bin : config.bins) {
    for (const std::uint32_t one : {bin, bin + 1}) {
      if (one == kBins) continue;
      config.share_bins.push_back(one);
      config.shares.push_back(0.5F);
    }
    config.share_ends.push_back(static_cast<std::uint32_t>(config.shares.size()));
  }
  config.bins.clear();
  return config;
}

/// A stack of images in memory of its own.
template <typename T>
struct Stack {
  explicit Stack(double percent) : memory(kImages * kPixels * sizeof(T), memory::MemoryKind::huge) {
    std::mt19937 random(3);
    auto* pixels = reinterpret_cast<T*>(memory.data());
    const auto limit = static_cast<std::uint32_t>(percent / 100 * 4294967295.0);
    for (std::size_t i = 0; i < kPixels; ++i) pixels[i] = random() <= limit ? static_cast<T>(1 + random() % 5) : T{};
    for (std::size_t i = 1; i < kImages; ++i) std::memcpy(image(i), pixels, kPixels * sizeof(T));
  }
  [[nodiscard]] std::byte* image(std::size_t i) { return memory.data() + i * kPixels * sizeof(T); }
  memory::Buffer memory;
};

template <typename T>
void integrate(benchmark::State& state, const Config& config, PixelFormat format) {
  Stack<T> stack(static_cast<double>(state.range(0)));
  std::vector<const std::byte*> in;
  std::vector<std::uint32_t> place;
  for (std::uint32_t i = 0; i < kImages; ++i) {
    in.push_back(stack.image(i));
    place.push_back(i);
  }
  const auto pass = step_of(config)->on_cpu(
      {.shape = {kWidth, kWidth}, .in = format, .stack = kImages, .places = kImages, .workers = 1});
  for ([[maybe_unused]] auto _ : state) {
    pass->begin(kImages);
    if (pass->grain() == CpuPass::Grain::image) {
      for (std::size_t i = 0; i < kImages; ++i) {
        pass->run(0, {.first = i, .count = 1, .in = &in[i], .place = &place[i]}, 0, kPixels);
      }
    } else {
      for (std::size_t at = 0; at < kPixels; at += kTask) {
        pass->run(0, {.first = 0, .count = kImages, .in = in.data(), .place = place.data()}, at, at + kTask);
      }
    }
    for (std::size_t i = 0; i < kImages; ++i) {
      Scalar mean;
      Finding finding{.scalars = &mean};
      pass->finish(i, finding);
      benchmark::DoNotOptimize(finding.profile.values);
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kImages * kPixels * sizeof(T)));
}

void integers(benchmark::State& state, Errors errors) {
  integrate<std::uint16_t>(state, rings(errors), delivered(PixelType::u16));
}
void wide_integers(benchmark::State& state) {
  integrate<std::uint32_t>(state, rings(Errors::poisson), delivered(PixelType::u32));
}
void split_integers(benchmark::State& state) {
  integrate<std::uint16_t>(state, split(rings(Errors::poisson)), delivered(PixelType::u16));
}
void reals(benchmark::State& state) { integrate<float>(state, rings(Errors::poisson), delivered(PixelType::f32)); }

/// The floor: the same bytes read.
void read_16_bits(benchmark::State& state) {
  Stack<std::uint16_t> stack(10);
  for ([[maybe_unused]] auto _ : state) {
    std::uint64_t sum = 0;
    const auto* words = reinterpret_cast<const std::uint64_t*>(stack.image(0));
    for (std::size_t i = 0; i < kImages * kPixels / 4; ++i) sum += words[i];
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kImages * kPixels * 2));
}

BENCHMARK(read_16_bits)->UseRealTime();
BENCHMARK_CAPTURE(integers, no_errors, Errors::none)->Arg(1)->Arg(10)->Arg(90);
BENCHMARK_CAPTURE(integers, poisson, Errors::poisson)->Arg(1)->Arg(10)->Arg(90);
BENCHMARK(wide_integers)->Arg(1)->Arg(90);
BENCHMARK(split_integers)->Arg(90);
BENCHMARK(reals)->Arg(90);

}  // namespace
}  // namespace rashpa::kernel::azimuthal
