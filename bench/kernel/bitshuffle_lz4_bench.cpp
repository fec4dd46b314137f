// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {
namespace {

constexpr std::size_t kPixels = std::size_t{1} << 20U;

/// Photons of a weak image: Poisson background with `mean` photons, 100 spots, and every 500th pixel masked.
std::vector<std::int16_t> photons(double mean) {
  std::mt19937 random(1);
  std::poisson_distribution<int> background(mean);
  std::vector<std::int16_t> image(kPixels);
  for (auto& pixel : image) pixel = static_cast<std::int16_t>(background(random));
  for (int i = 0; i < 100; ++i) image[random() % kPixels] = static_cast<std::int16_t>(50 + random() % 500);
  for (std::size_t i = 0; i < kPixels; i += 500) image[i] = INT16_MIN;
  return image;
}

void set_counters(benchmark::State& state, std::size_t bytes, double ratio) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
  if (ratio > 0) state.counters["ratio"] = ratio;
}

void floor_memcpy(benchmark::State& state) {
  const auto image = photons(0.05);
  std::vector<std::int16_t> copy(kPixels);
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(copy.data(), image.data(), kPixels * 2);
    benchmark::ClobberMemory();
  }
  set_counters(state, kPixels * 2, 0);
}
BENCHMARK(floor_memcpy);

void transpose_only(benchmark::State& state) {
  const auto image = photons(0.05);
  std::vector<std::byte> planes(kTargetBlockBytes);
  const auto* in = reinterpret_cast<const std::byte*>(image.data());
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t at = 0; at < kPixels * 2; at += kTargetBlockBytes) {
      shuffle(in + at, planes.data(), kTargetBlockBytes / 2, 2);
      benchmark::DoNotOptimize(planes.data());
      benchmark::ClobberMemory();
    }
  }
  set_counters(state, kPixels * 2, 0);
}
BENCHMARK(transpose_only);

/// The argument is the mean number of photons a pixel, in thousandths.
void compress_photons(benchmark::State& state) {
  const auto image = photons(static_cast<double>(state.range(0)) / 1000);
  Compressor compressor(2);
  std::vector<std::byte> out(compressed_bound(kPixels * 2, 2));
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) bytes = compressor.compress(std::as_bytes(std::span(image)), out);
  set_counters(state, kPixels * 2, static_cast<double>(kPixels * 2) / static_cast<double>(bytes));
}
BENCHMARK(compress_photons)->Arg(0)->Arg(10)->Arg(50)->Arg(200)->Arg(1000);

/// Raw words of a dark JUNGFRAU frame: a pedestal that differs from pixel to pixel, and noise.
void compress_raw(benchmark::State& state) {
  std::mt19937 random(1);
  std::normal_distribution<double> pedestal(3000, 200), noise(0, 10);
  std::vector<std::uint16_t> image(kPixels);
  for (auto& pixel : image) pixel = static_cast<std::uint16_t>(pedestal(random) + noise(random));
  Compressor compressor(2);
  std::vector<std::byte> out(compressed_bound(kPixels * 2, 2));
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) bytes = compressor.compress(std::as_bytes(std::span(image)), out);
  set_counters(state, kPixels * 2, static_cast<double>(kPixels * 2) / static_cast<double>(bytes));
}
BENCHMARK(compress_raw);

void decompress_photons(benchmark::State& state) {
  const auto image = photons(0.05);
  Compressor compressor(2);
  std::vector<std::byte> chunk(compressed_bound(kPixels * 2, 2)), out(kPixels * 2);
  chunk.resize(compressor.compress(std::as_bytes(std::span(image)), chunk));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(decompress(chunk, 2, out));
  set_counters(state, kPixels * 2, 0);
}
BENCHMARK(decompress_photons);

}  // namespace
}  // namespace rashpa::kernel::bitshuffle_lz4
