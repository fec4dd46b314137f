// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau_pass.hpp"

namespace rashpa::kernel::jungfrau::cuda {

namespace {

/// The counts to their columns, and back to 0 for the next stack.
__global__ void settle(const kernel::cuda::DeviceStack stack, Counts* counts) {
  for (std::uint32_t i = threadIdx.x; i < stack.count; i += blockDim.x) {
    if (stack.work[i] != 0) {
      stack.scalars[i * stack.scalars_stride] = Scalar::of_count(counts[i].masked);
      stack.scalars[i * stack.scalars_stride + 1] = Scalar::of_count(counts[i].saturated);
      stack.findings[i].counted = counts[i].bright;
    }
    counts[i] = Counts{};
  }
}

}  // namespace

Pass::Pass(const Config& config, const Taps& taps, const Setup& setup) : calibration_(config), taps_(taps) {
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) counts_.emplace_back(setup.stack * sizeof(Counts));
}

int Pass::enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  constexpr unsigned kThreads = 128;
  auto* const counts = counts_[bench].as<Counts>();
  Batch batch{};
  batch.raw = reinterpret_cast<const std::uint16_t*>(stack.in);
  batch.raw_stride = stack.in_stride / sizeof(std::uint16_t);
  batch.out = stack.out;
  batch.out_stride = stack.out_stride / (output() == Output::kev ? sizeof(float) : sizeof(std::int16_t));
  batch.marks = stack.marks;
  batch.marks_stride = stack.marks_stride;
  batch.counts = counts;
  batch.work = stack.work;
  batch.count = stack.count;
  const cudaError_t code = convert(tables(), output(), batch, taps_, stream);
  if (code != cudaSuccess) return code;
  settle<<<1, kThreads, 0, stream>>>(stack, counts);
  return cudaPeekAtLastError();
}

}  // namespace rashpa::kernel::jungfrau::cuda
