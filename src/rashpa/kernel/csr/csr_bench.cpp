// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <vector>

#include "rashpa/kernel/csr/csr.hpp"

namespace rashpa::kernel::csr {
namespace {

constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};
constexpr std::size_t kPixels = 1U << 22U;

std::vector<std::int16_t> image(std::uint32_t filled_permille) {
  std::vector<std::int16_t> photons(kPixels);
  std::uint32_t state = 1;
  for (auto& p : photons) {
    state = state * 1664525U + 1013904223U;
    p = static_cast<std::int16_t>((state >> 16U) % 1000 < filled_permille ? 5 : 0);
  }
  return photons;
}

/// Argument: pixels to keep, in 1/1000.
template <auto kCompact>
void compact_image(benchmark::State& state) {
  const auto photons = image(static_cast<std::uint32_t>(state.range(0)));
  std::vector<std::uint32_t> index(kPixels + kSlack);
  std::vector<std::int16_t> value(kPixels + kSlack);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(
        kCompact(photons.data(), kPhotons, kPixels, 1, Entries{index.data(), value.data(), kPixels}));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kPixels * 2));
}
BENCHMARK(compact_image<compact>)->Arg(0)->Arg(2)->Arg(20)->Arg(100)->Arg(500);
BENCHMARK(compact_image<compact_reference>)->Arg(20);

}  // namespace
}  // namespace rashpa::kernel::csr
