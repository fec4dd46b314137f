// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::checksum {
namespace {

constexpr std::size_t kLine = 2048, kLines = 4096, kBytes = kLine * kLines;

/// Argument: parts beside each other; 1: modules of full width, below each other.
void verify_image(benchmark::State& state) {
  const memory::Buffer image(kBytes, memory::MemoryKind::huge);
  std::memset(image.data(), 3, kBytes);
  const auto across = static_cast<std::uint32_t>(state.range(0));
  std::vector<PayloadSum> sums;
  for (std::uint32_t part = 0; part < 8; ++part) {
    const std::uint32_t column = part % across, row = part / across;
    const auto lines = static_cast<std::uint32_t>(kLines * across / 8);
    sums.push_back({row * std::uint64_t{lines} * kLine + column * (kLine / across), kLine,
                    static_cast<std::uint32_t>(kLine / across), lines, 0, true});
  }
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(verify({image.data(), kBytes}, sums).crc32c);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBytes));
}
BENCHMARK(verify_image)->Arg(1)->Arg(2)->Arg(4);

}  // namespace
}  // namespace rashpa::kernel::checksum
