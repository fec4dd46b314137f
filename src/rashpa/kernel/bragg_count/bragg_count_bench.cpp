// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <vector>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"

namespace rashpa::kernel::bragg_count {
namespace {

std::vector<std::int16_t> image(std::size_t pixels) {
  std::vector<std::int16_t> photons(pixels);
  std::uint32_t state = 1;
  for (auto& p : photons) {
    state = state * 1664525U + 1013904223U;
    p = static_cast<std::int16_t>(state >> 24U < 250 ? state >> 31U : state >> 22U);
  }
  return photons;
}

constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};

/// Argument: pixels.
template <auto kCount>
void count_image(benchmark::State& state) {
  const auto photons = image(static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(kCount(photons.data(), kPhotons, photons.size(), 10));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}
BENCHMARK(count_image<count>)->Arg(8192)->Arg(1 << 19)->Arg(1 << 24);
BENCHMARK(count_image<count_reference>)->Arg(1 << 19);

}  // namespace
}  // namespace rashpa::kernel::bragg_count
