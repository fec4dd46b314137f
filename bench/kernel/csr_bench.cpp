// SPDX-License-Identifier: Apache-2.0
/// Lists of the pixels of 16 images of 4M, more than the caches hold, beside reading them.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/memory/buffer.hpp"
#include "read_floor.hpp"

namespace rashpa::kernel::csr {
namespace {

constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};
constexpr std::size_t kPixels = 1U << 22U;
constexpr std::size_t kImages = 16;

/// Images of photons one behind the other, in huge pages as those of a unit.
memory::Buffer filled(std::uint32_t permille) {
  memory::Buffer buffer(kImages * kPixels * sizeof(std::int16_t), memory::MemoryKind::huge);
  auto* photons = reinterpret_cast<std::int16_t*>(buffer.data());
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < kImages * kPixels; ++i) {
    state = state * 1664525U + 1013904223U;
    photons[i] = static_cast<std::int16_t>((state >> 16U) % 1000 < permille ? 5 : 0);
  }
  return buffer;
}

void read_floor(benchmark::State& state) {
  const memory::Buffer images = filled(0);
  kernel::read_floor(state, {images.data(), kImages * kPixels * sizeof(std::int16_t)});
}
BENCHMARK(read_floor);

/// Argument: pixels to keep, in 1/1000. `moved`: bytes of the images read and of the list
/// written, 6 an entry.
template <auto kCompact>
void compact_images(benchmark::State& state) {
  const memory::Buffer images = filled(static_cast<std::uint32_t>(state.range(0)));
  const memory::Buffer index((kPixels + kSlack) * sizeof(std::uint32_t), memory::MemoryKind::huge);
  const memory::Buffer value((kPixels + kSlack) * sizeof(std::int16_t), memory::MemoryKind::huge);
  std::size_t entries = 0;
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t i = 0; i < kImages; ++i) {
      entries += kCompact(images.data() + i * kPixels * 2, kPhotons, kPixels, 1,
                          Entries{reinterpret_cast<std::uint32_t*>(index.data()), value.data(), kPixels});
    }
  }
  state.counters["moved"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kImages * kPixels * 2 + entries * 6),
                         benchmark::Counter::kIsRate, benchmark::Counter::kIs1024);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kImages * kPixels * 2));
}
BENCHMARK(compact_images<compact>)->Arg(0)->Arg(1)->Arg(2)->Arg(5)->Arg(20)->Arg(100)->Arg(500);
BENCHMARK(compact_images<compact_reference>)->Arg(20);

}  // namespace
}  // namespace rashpa::kernel::csr
