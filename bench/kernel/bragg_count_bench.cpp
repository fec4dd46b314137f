// SPDX-License-Identifier: Apache-2.0
/// Counts of bright pixels: of an image in a cache, and of 16 images of 4M, more than the caches hold, beside reading
/// them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/memory/buffer.hpp"
#include "read_floor.hpp"

namespace rashpa::kernel::bragg_count {
namespace {

constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};
constexpr std::size_t kPixels = 1U << 22U;
constexpr std::size_t kImages = 16;

/// Images of photons one behind the other, in huge pages as those of a unit.
memory::Buffer filled(std::uint32_t seed) {
  memory::Buffer buffer(kImages * kPixels * sizeof(std::int16_t), memory::MemoryKind::huge);
  auto* photons = reinterpret_cast<std::int16_t*>(buffer.data());
  std::uint32_t state = seed;
  for (std::size_t i = 0; i < kImages * kPixels; ++i) {
    state = state * 1664525U + 1013904223U;
    photons[i] = static_cast<std::int16_t>(state >> 24U < 250 ? state >> 31U : state >> 22U);
  }
  return buffer;
}

void read_floor(benchmark::State& state) {
  const memory::Buffer images = filled(0);
  kernel::read_floor(state, {images.data(), kImages * kPixels * sizeof(std::int16_t)});
}
BENCHMARK(read_floor);

/// Argument: pixels of an image.
template <auto kCount>
void count_images(benchmark::State& state) {
  const memory::Buffer images = filled(1);
  const auto pixels = static_cast<std::size_t>(state.range(0));
  const std::size_t count = pixels == kPixels ? kImages : 1;
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) {
      benchmark::DoNotOptimize(kCount(images.data() + i * pixels * 2, kPhotons, pixels, 10));
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(count * pixels * 2));
}
BENCHMARK(count_images<count>)->Arg(8192)->Arg(1 << 19)->Arg(kPixels);
BENCHMARK(count_images<count_reference>)->Arg(1 << 19);

}  // namespace
}  // namespace rashpa::kernel::bragg_count
