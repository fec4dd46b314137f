// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/bench_memory.hpp"

#include <algorithm>

namespace rashpa::unit::cuda {

BenchMemory::Bench::Bench(const Steps& steps, const Places& places, std::size_t order_bytes, bool copied)
    : order(order_bytes),
      raw(copied ? places.stack * places.raw_stride : 0),
      marks(places.stack * places.mark_words * sizeof(std::uint64_t)),
      findings(places.stack * sizeof(DeviceFinding)),
      scalars(std::max<std::size_t>(1, std::size_t{places.stack} * places.columns) * sizeof(Scalar)),
      blocks_done(sizeof(std::uint32_t)) {
  for (const std::size_t stride : places.made_strides) made.emplace_back(places.stack * stride);
  if (steps.output.chunked) {
    encoder = std::make_unique<kernel::bitshuffle_lz4::cuda::Encoder>(stored_bytes(steps.output),
                                                                      pixel_bytes(steps.output.pixel), places.stack);
  }
}

BenchMemory::BenchMemory(const Steps& steps, const Places& places, std::size_t order_bytes, std::uint32_t benches,
                         bool copied) {
  benches_.reserve(benches);
  for (std::uint32_t bench = 0; bench < benches; ++bench) benches_.emplace_back(steps, places, order_bytes, copied);
}

}  // namespace rashpa::unit::cuda
