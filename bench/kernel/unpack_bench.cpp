// SPDX-License-Identifier: Apache-2.0
/// Modules of 1536 × 1536 pixels, unpacked into memory beyond the caches, against copies past the caches of as many
/// bytes read and written.
#include <benchmark/benchmark.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>
#include <vector>

#include "rashpa/kernel/unpack/unpack.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::unpack {
namespace {

constexpr std::size_t kImages = 40;

memory::Buffer filled(std::size_t bytes) {
  memory::Buffer buffer(bytes, memory::MemoryKind::huge);
  std::memset(buffer.data(), 0x3A, bytes);
  return buffer;
}

void unpack_images(benchmark::State& state, Config config) {
  const std::size_t in_bytes = config.packed().pixels();
  const std::size_t out_bytes = config.made().pixels() * pixel_bytes(type_of(config.bits));
  const memory::Buffer in = filled(kImages * in_bytes), out = filled(kImages * (out_bytes + 64));
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t i = 0; i < kImages; ++i) {
      unpack_lines(config, in.data() + i * in_bytes, out.data() + i * ((out_bytes + 63) / 64 * 64), 0,
                   config.packed().height);
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kImages * (in_bytes + out_bytes)));
}
BENCHMARK_CAPTURE(unpack_images, bits_1, Config{.bits = Bits::one});
BENCHMARK_CAPTURE(unpack_images, bits_6, Config{.bits = Bits::six});
BENCHMARK_CAPTURE(unpack_images, bits_12, Config{.bits = Bits::twelve});
BENCHMARK_CAPTURE(unpack_images, bits_24, Config{.bits = Bits::twenty_four});
BENCHMARK_CAPTURE(unpack_images, four_modules_bits_12,
                  Config{.bits = Bits::twelve, .modules_across = 2, .modules_down = 2, .gap_x = 3, .gap_y = 3});

/// Past the caches.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  auto* out = reinterpret_cast<std::uint8_t*>(to);
  const auto* in = reinterpret_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < bytes; i += 4 * lanes) {
    for (std::size_t v = 0; v < 4; ++v) hn::Stream(hn::LoadU(d, in + i + v * lanes), d, out + i + v * lanes);
  }
  hwy::FlushStream();
}

/// As many bytes read and written as 12-bit counters take.
void copy_floor(benchmark::State& state) {
  constexpr std::size_t kBytes = std::size_t{1536} * 1536 * 7 / 4;
  const memory::Buffer in = filled(kImages * kBytes), out = filled(kImages * kBytes);
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t i = 0; i < kImages; ++i) stream_copy(out.data() + i * kBytes, in.data() + i * kBytes, kBytes);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * kImages * kBytes));
}
BENCHMARK(copy_floor);

}  // namespace
}  // namespace rashpa::kernel::unpack
