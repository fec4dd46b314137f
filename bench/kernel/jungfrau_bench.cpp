// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstring>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"

namespace rashpa::kernel::jungfrau {
namespace {

/// A stack of synthetic frames of one module and aligned room for the results.
struct Fixture {
  Config config;
  Prepared prepared;
  std::vector<std::vector<std::uint16_t>> frames;
  std::vector<std::byte> memory;
  std::vector<std::vector<std::uint64_t>> mark_words;
  std::vector<const std::uint16_t*> raw;
  std::vector<void*> out;
  std::vector<std::uint64_t*> marks;
  std::vector<Counts> counts;

  Fixture(Output output, std::size_t stack, double switched)
      : config(synthetic::config(1024, 512, output, 1)), prepared(config), counts(stack) {
    const std::size_t bytes = prepared.pixels() * (output == Output::kev ? 4 : 2);
    memory.resize(stack * bytes + 64);
    std::byte* first = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
    mark_words.assign(stack, std::vector<std::uint64_t>(prepared.pixels() / kGroup));
    for (std::size_t i = 0; i < stack; ++i) {
      frames.push_back(synthetic::frame(config, switched, i));
      out.push_back(first + i * bytes);
      marks.push_back(mark_words[i].data());
    }
    for (const auto& frame : frames) raw.push_back(frame.data());
  }
  [[nodiscard]] Images images() { return {raw.size(), raw.data(), out.data(), marks.data(), counts.data()}; }
};

void report(benchmark::State& state, const Fixture& fixture) {
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(fixture.raw.size() * fixture.prepared.pixels() * 2));
}

/// Arguments: images in the stack, switched pixels in 1/1000.
template <Output kOutput, bool kCount, bool kMark>
void convert_stack(benchmark::State& state) {
  Fixture fixture(kOutput, static_cast<std::size_t>(state.range(0)), static_cast<double>(state.range(1)) / 1000);
  for ([[maybe_unused]] auto _ : state) {
    convert(fixture.prepared, fixture.images(), {kCount, 10, kMark, 1}, 0, fixture.prepared.pixels());
    benchmark::ClobberMemory();
  }
  report(state, fixture);
}

/// The floor: memcpy that reads and writes as many bytes as a conversion to photons.
void copy_stack(benchmark::State& state) {
  Fixture fixture(Output::photons, static_cast<std::size_t>(state.range(0)), 0.01);
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t i = 0; i < fixture.raw.size(); ++i) {
      std::memcpy(fixture.out[i], fixture.raw[i], fixture.prepared.pixels() * 2);
    }
    benchmark::ClobberMemory();
  }
  report(state, fixture);
}

BENCHMARK(copy_stack)->Args({40, 10});
BENCHMARK(convert_stack<Output::photons, false, false>)
    ->Args({1, 10})
    ->Args({10, 10})
    ->Args({40, 0})
    ->Args({40, 10})
    ->Args({40, 50});
BENCHMARK(convert_stack<Output::photons, true, false>)->Args({40, 10});
BENCHMARK(convert_stack<Output::photons, true, true>)->Args({40, 10});
BENCHMARK(convert_stack<Output::kev, false, false>)->Args({40, 10});

void plain_reference(benchmark::State& state) {
  Fixture fixture(Output::photons, 1, 0.01);
  for ([[maybe_unused]] auto _ : state)
    convert_reference(fixture.config, fixture.images(), {}, 0, fixture.prepared.pixels());
  report(state, fixture);
}
BENCHMARK(plain_reference);

}  // namespace
}  // namespace rashpa::kernel::jungfrau
