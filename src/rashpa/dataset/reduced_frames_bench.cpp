// SPDX-License-Identifier: Apache-2.0
/// The speed of each step of a reduction on one core, for uint16 pixels of a 1024 × 512 module: bytes of unreduced
/// pixels a second.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "rashpa/dataset/reduced_frames.hpp"

namespace rashpa::dataset {
namespace {

constexpr ModuleShape kShape{1024, 512, PixelType::u16};

std::vector<std::byte> counts() {
  std::vector<std::byte> bytes(kShape.frame_bytes());
  for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
    const auto pixel = static_cast<std::uint16_t>(i * 2654435761U % 997);
    std::memcpy(bytes.data() + 2 * i, &pixel, 2);
  }
  return bytes;
}

Reduction of_u16(std::uint32_t bin, BinValue by) {
  return {.bin_x = bin, .bin_y = bin, .bin_by = by, .threshold = 3, .least = 0, .most = 65534, .saturated = 65535};
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kShape.frame_bytes()));
}

void offset(benchmark::State& state) {
  std::vector<std::byte> pixels = counts();
  const std::vector<std::byte> dark = counts();
  for (auto _ : state) {
    subtract_offset(kShape.pixel, of_u16(1, BinValue::sum), dark, pixels);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void threshold(benchmark::State& state) {
  std::vector<std::byte> pixels = counts();
  for (auto _ : state) {
    zero_below_threshold(kShape.pixel, of_u16(1, BinValue::sum), pixels);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void bins(benchmark::State& state, BinValue by) {
  const std::vector<std::byte> pixels = counts();
  const auto bin = static_cast<std::uint32_t>(state.range(0));
  std::vector<std::byte> to(pixels.size() / bin / bin);
  Binning binning(kShape, of_u16(bin, by));
  for (auto _ : state) {
    binning.bin(pixels, to);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void copy(benchmark::State& state) {
  const std::vector<std::byte> pixels = counts();
  std::vector<std::byte> to(pixels.size());
  for (auto _ : state) {
    std::memcpy(to.data(), pixels.data(), to.size());
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

BENCHMARK(copy);
BENCHMARK(offset);
BENCHMARK(threshold);
BENCHMARK_CAPTURE(bins, sum, BinValue::sum)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK_CAPTURE(bins, mean, BinValue::mean)->Arg(2)->Arg(4)->Arg(8);

}  // namespace
}  // namespace rashpa::dataset
