// SPDX-License-Identifier: Apache-2.0
/// What accumulating costs beside the pass that makes the pixels: one stack at a time, one thread, 4 megapixels.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::accumulate {
namespace {

constexpr std::size_t kWidth = 2048, kPixels = kWidth * kWidth;

/// A stack of images in memory of its own.
struct Stack {
  Stack(std::size_t images, std::size_t pixel_bytes, int fill)
      : memory(images * kPixels * pixel_bytes, memory::MemoryKind::huge) {
    std::memset(memory.data(), fill, images * kPixels * pixel_bytes);
    for (std::size_t i = 0; i < images; ++i) image.push_back(memory.data() + i * kPixels * pixel_bytes);
  }
  memory::Buffer memory;
  std::vector<std::byte*> image;
};

void accumulate_stack(benchmark::State& state, PixelFormat format, const Config& config) {
  const auto images = static_cast<std::size_t>(state.range(0));
  const Stack stack(images, pixel_bytes(format.type), 1);
  Sums sums(config, format, kPixels);
  for ([[maybe_unused]] auto _ : state) add(sums, stack.image.data(), images, 0, kPixels);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(images * kPixels * pixel_bytes(format.type)));
}

constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};
constexpr Config kMean{.sum = false, .max = false}, kEach{}, kAll{.variance = true};
BENCHMARK_CAPTURE(accumulate_stack, mean_int16, kPhotons, kMean)->Arg(10)->Arg(20);
BENCHMARK_CAPTURE(accumulate_stack, sum_mean_max_int16, kPhotons, kEach)->Arg(10)->Arg(20);
BENCHMARK_CAPTURE(accumulate_stack, all_int16, kPhotons, kAll)->Arg(10)->Arg(20);
BENCHMARK_CAPTURE(accumulate_stack, all_uint32, delivered(PixelType::u32), kAll)->Arg(10);
BENCHMARK_CAPTURE(accumulate_stack, all_float32, delivered(PixelType::f32), kAll)->Arg(10);

/// The pass it rides on: jungfrau to int16 over the same images.
void jungfrau_stack(benchmark::State& state) {
  const auto images = static_cast<std::size_t>(state.range(0));
  const auto config = jungfrau::synthetic::config(kWidth, kWidth, jungfrau::Output::photons, 1);
  const Stack from(images, 2, 1), to(images, 2, 0);
  const auto step = jungfrau::step_of(config);
  const auto pass = step->on_cpu({.shape = {kWidth, kWidth},
                                  .in = delivered(PixelType::u16),
                                  .stack = static_cast<std::uint32_t>(images),
                                  .places = static_cast<std::uint32_t>(images)});
  const std::vector<std::uint32_t> places(images);
  const Items items{0, images, from.image.data(), to.image.data(), nullptr, places.data()};
  for ([[maybe_unused]] auto _ : state) {
    pass->begin(images);
    for (std::size_t p = 0; p < kPixels; p += 65536) pass->run(0, items, p, p + 65536);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(images * kPixels * 2));
}
BENCHMARK(jungfrau_stack)->Arg(10)->Arg(20);

/// The floor: the same bytes read.
void read_stack(benchmark::State& state) {
  const auto images = static_cast<std::size_t>(state.range(0));
  const Stack stack(images, 2, 1);
  for ([[maybe_unused]] auto _ : state) {
    std::uint64_t sum = 0;
    for (const std::byte* image : stack.image) {
      const auto* words = reinterpret_cast<const std::uint64_t*>(image);
      for (std::size_t i = 0; i < kPixels / 4; ++i) sum += words[i];
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(images * kPixels * 2));
}
BENCHMARK(read_stack)->Arg(10);

}  // namespace
}  // namespace rashpa::kernel::accumulate
