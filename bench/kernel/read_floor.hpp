// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The floor of benchmarks whose kernels read pixels and write next to nothing.
#include <benchmark/benchmark.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa::kernel {

/// All bytes read once, nothing done with them: a multiple of four vectors, aligned to one.
inline void read_floor(benchmark::State& state, std::span<const std::byte> images) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<std::uint64_t> d;
  const auto* words = reinterpret_cast<const std::uint64_t*>(images.data());
  for ([[maybe_unused]] auto _ : state) {
    auto sum = hn::Zero(d);
    for (std::size_t i = 0; i < images.size() / sizeof(*words); i += 4 * hn::Lanes(d)) {
      for (std::size_t v = 0; v < 4; ++v) sum = hn::Xor(sum, hn::Load(d, words + i + v * hn::Lanes(d)));
    }
    benchmark::DoNotOptimize(hn::GetLane(sum));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(images.size()));
}

}  // namespace rashpa::kernel
