// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau_pass.hpp"

namespace rashpa::kernel::jungfrau::cuda {

namespace {

/// The counts to their columns, and back to 0 for the next stack; how far pedestals have moved behind them.
__global__ void settle(const kernel::cuda::DeviceStack stack, Counts* counts, const TrackerState* tracker) {
  for (std::uint32_t i = threadIdx.x; i < stack.count; i += blockDim.x) {
    if (stack.work[i] != 0) {
      Scalar* const scalars = stack.scalars + i * stack.scalars_stride;
      scalars[0] = Scalar::of_count(counts[i].masked);
      scalars[1] = Scalar::of_count(counts[i].saturated);
      if (tracker != nullptr) {
        const Drift drift = tracker->looked == 0 ? Drift{} : drift_of(tracker->looked - 1, tracker->worst_looked);
        scalars[2] = Scalar::of_real(drift.median);
        scalars[3] = Scalar::of_real(drift.worst);
      }
      stack.findings[i].counted = counts[i].bright;
    }
    counts[i] = Counts{};
  }
}

}  // namespace

Pass::Pass(const Config& config, const Assembly* assembly, const Taps& taps, const Setup& setup)
    : Pass(config, Prepared(config), assembly, taps, setup) {}

Pass::Pass(const Config& config, const Prepared& prepared, const Assembly* assembly, const Taps& taps,
           const Setup& setup)
    : calibration_(prepared), taps_(taps) {
  if (assembly != nullptr) assembly_.emplace(*assembly, prepared.output(), setup);
  if (config.tracking.from != Tracking::From::off) tracker_.emplace(config, prepared, setup);
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) counts_.emplace_back(setup.stack * sizeof(Counts));
}

int Pass::enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  constexpr unsigned kThreads = 128;
  cudaError_t code = tracker_ ? tracker_->begin(stack, stream) : cudaSuccess;
  if (code == cudaSuccess) code = convert_stack(stack, bench, stream);
  if (code == cudaSuccess && assembly_) code = assembly_->assemble(stack, bench, stream);
  if (code == cudaSuccess && tracker_) code = tracker_->follow(stack, calibration_.pedestals(), stream);
  if (code != cudaSuccess) return code;
  settle<<<1, kThreads, 0, stream>>>(stack, counts_[bench].as<Counts>(), tracker_ ? tracker_->state() : nullptr);
  return cudaPeekAtLastError();
}

cudaError_t Pass::convert_stack(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
                                cudaStream_t stream) const noexcept {
  Batch batch{};
  batch.raw = reinterpret_cast<const std::uint16_t*>(stack.in);
  batch.raw_stride = stack.in_stride / sizeof(std::uint16_t);
  batch.out = assembly_ ? assembly_->converted(bench) : stack.out;
  batch.out_stride = assembly_ ? assembly_->stride()
                               : stack.out_stride / (output() == Output::kev ? sizeof(float) : sizeof(std::int16_t));
  batch.marks = stack.marks;
  batch.marks_stride = stack.marks_stride;
  batch.counts = counts_[bench].as<Counts>();
  batch.work = stack.work;
  batch.count = stack.count;
  return convert(tables(), output(), batch, taps_, stream);
}

}  // namespace rashpa::kernel::jungfrau::cuda
