// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau_pass.hpp"

namespace rashpa::kernel::jungfrau::cuda {

namespace {

/// The counts to their columns, and back to 0 for the next stack.
__global__ void settle(const kernel::cuda::DeviceStack stack, Counts* counts) {
  for (std::uint32_t i = threadIdx.x; i < stack.count; i += blockDim.x) {
    if (stack.work[i] != 0) {
      Scalar* const scalars = stack.scalars + i * stack.scalars_stride;
      scalars[0] = Scalar::of_count(counts[i].masked);
      scalars[1] = Scalar::of_count(counts[i].saturated);
      stack.findings[i].counted = counts[i].bright;
    }
    counts[i] = Counts{};
  }
}

/// How far the pedestals of a set have moved, behind the counts of its images.
__global__ void settle_drift(const kernel::cuda::DeviceStack stack, const SetImages of, const TrackerState* tracker) {
  const Drift drift = tracker->looked == 0 ? Drift{} : drift_of(tracker->looked - 1, tracker->worst_looked);
  for (std::uint32_t i = threadIdx.x; i < stack.count; i += blockDim.x) {
    if (stack.work[i] == 0 || (of.sets != nullptr && of.sets[i] != of.set)) continue;
    Scalar* const scalars = stack.scalars + i * stack.scalars_stride;
    scalars[2] = Scalar::of_real(drift.median);
    scalars[3] = Scalar::of_real(drift.worst);
  }
}

/// Images of a cell without a set fail and leave the work.
__global__ void refuse(const kernel::cuda::DeviceStack stack, const std::uint8_t* sets, bool drifts) {
  for (std::uint32_t i = threadIdx.x; i < stack.count; i += blockDim.x) {
    if (stack.work[i] == 0 || sets[i] != Cells::kNoSet) continue;
    stack.work[i] = 0;
    stack.findings[i].failed = static_cast<std::uint8_t>(stack.step + 1);
    Scalar* const scalars = stack.scalars + i * stack.scalars_stride;
    scalars[0] = scalars[1] = Scalar::of_count(0);
    if (drifts) scalars[2] = scalars[3] = Scalar::of_real(0);
  }
}

/// The work on images of one set.
__global__ void choose(const std::uint8_t* work, const std::uint8_t* sets, std::uint8_t set, std::uint8_t* chosen,
                       std::uint32_t count) {
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
    chosen[i] = sets[i] == set ? work[i] : std::uint8_t{0};
}

constexpr unsigned kThreads = 128;  // of kernels that go over the images of a stack

}  // namespace

Pass::Pass(const Config& config, const Assembly* assembly, const Taps& taps, const Setup& setup)
    : Pass(config, prepared_sets(config), assembly, taps, setup) {}

Pass::Pass(const Config& config, const std::vector<Prepared>& sets, const Assembly* assembly, const Taps& taps,
           const Setup& setup)
    : cells_(config), at_once_(config.tracking.at_once()), taps_(taps) {
  sets_.reserve(sets.size());
  for (const Prepared& one : sets) sets_.emplace_back(one);
  const Prepared& prepared = sets.front();
  if (assembly != nullptr) assembly_.emplace(*assembly, prepared.output(), setup);
  if (config.tracking.from != Tracking::From::off) {
    for (std::size_t set = 0; set < sets.size(); ++set) {
      trackers_.emplace_back(config_of_set(config, set), sets[set], setup);
    }
  }
  if (cells_.named()) set_of_.emplace(setup.places);
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
    counts_.emplace_back(setup.stack * sizeof(Counts));
    if (cells_.named()) sets_there_.emplace_back(2 * setup.stack);
  }
}

void Pass::prepare(std::uint32_t place, const StackImage& image) noexcept {
  if (!cells_.named()) return;
  const std::uint8_t cell = cell_of(image.flags);
  const std::uint8_t set = cells_.set_of(cell);
  if (set == Cells::kNoSet) cells_.refuse(cell);
  set_of_->as<std::uint8_t>()[place] = set;
}

cudaError_t Pass::take_sets(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
                            cudaStream_t stream) const noexcept {
  auto* const sets = sets_there_[bench].as<std::uint8_t>();
  const cudaError_t code =
      cudaMemcpyAsync(sets, set_of_->as<std::uint8_t>() + stack.place, stack.count, cudaMemcpyHostToDevice, stream);
  if (code != cudaSuccess) return code;
  refuse<<<1, kThreads, 0, stream>>>(stack, sets, !trackers_.empty());
  return cudaPeekAtLastError();
}

int Pass::enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  cudaError_t code = cells_.named() ? take_sets(stack, bench, stream) : cudaSuccess;
  for (std::size_t set = 0; set < trackers_.size() && code == cudaSuccess; ++set) {
    code = trackers_[set].begin(stack, of_set(bench, set), stream);
  }
  if (code == cudaSuccess) {
    code = at_once_ ? convert_image_by_image(stack, bench, stream) : convert_stack(stack, bench, stream);
  }
  if (code == cudaSuccess && assembly_) code = assembly_->assemble(stack, bench, stream);
  for (std::size_t set = 0; set < trackers_.size() && code == cudaSuccess; ++set) {
    if (!at_once_) code = trackers_[set].follow(stack, 0, stack.count, sets_[set].pedestals(), stream);
    if (code == cudaSuccess) code = trackers_[set].look_at(sets_[set].pedestals(), stream);
  }
  if (code != cudaSuccess) return code;
  settle<<<1, kThreads, 0, stream>>>(stack, counts_[bench].as<Counts>());
  for (std::size_t set = 0; set < trackers_.size(); ++set) {
    settle_drift<<<1, kThreads, 0, stream>>>(stack, of_set(bench, set), trackers_[set].state());
  }
  return cudaPeekAtLastError();
}

SetImages Pass::of_set(std::uint32_t bench, std::size_t set) const noexcept {
  return {cells_.named() ? sets_there_[bench].as<const std::uint8_t>() : nullptr, static_cast<std::uint8_t>(set)};
}

std::string Pass::notice() const {
  for (const DeviceTracker& tracker : trackers_) {
    if (std::string notice = tracker.notice(); !notice.empty()) return notice;
  }
  return {};
}

Batch Pass::batch_of(const kernel::cuda::DeviceStack& stack, std::uint32_t bench) const noexcept {
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
  return batch;
}

cudaError_t Pass::convert_image_by_image(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
                                         cudaStream_t stream) const noexcept {
  const std::size_t out_bytes = output() == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  Batch batch = batch_of(stack, bench);
  batch.count = 1;
  cudaError_t code = cudaSuccess;
  for (std::uint32_t i = 0; i < stack.count && code == cudaSuccess; ++i) {
    code = convert(tables(), output(), batch, taps_, stream);
    if (code == cudaSuccess) code = trackers_.front().follow(stack, i, i + 1, sets_.front().pedestals(), stream);
    batch.raw += batch.raw_stride;
    batch.out = static_cast<std::byte*>(batch.out) + batch.out_stride * out_bytes;
    if (batch.marks != nullptr) batch.marks += batch.marks_stride;
    batch.counts += 1;
    batch.work += 1;
  }
  return code;
}

cudaError_t Pass::convert_stack(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
                                cudaStream_t stream) const noexcept {
  Batch batch = batch_of(stack, bench);
  if (!cells_.named()) return convert(tables(), output(), batch, taps_, stream);
  const auto* const sets = sets_there_[bench].as<const std::uint8_t>();
  auto* const chosen = sets_there_[bench].as<std::uint8_t>() + stack.count;
  batch.work = chosen;
  cudaError_t code = cudaSuccess;
  for (std::size_t set = 0; set < sets_.size() && code == cudaSuccess; ++set) {
    choose<<<1, kThreads, 0, stream>>>(stack.work, sets, static_cast<std::uint8_t>(set), chosen, stack.count);
    code = convert(sets_[set].tables(), output(), batch, taps_, stream);
  }
  return code;
}

}  // namespace rashpa::kernel::jungfrau::cuda
