// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/streams/stage_kernels.hpp"

namespace rashpa::unit::cuda {

namespace {

// Few blocks fill the bus, and leave the rest of the device to the next stack's conversion.
constexpr unsigned kDeliverBlocks = 32;
constexpr unsigned kDeliverThreads = 512;

__device__ const std::uint8_t* work_of(const Order* order) { return reinterpret_cast<const std::uint8_t*>(order + 1); }

__device__ std::uint8_t tap_verdict(const Deliver& step, const kernel::CountTap& tap, std::uint32_t i) {
  return step.tap != nullptr && work_of(step.order)[i] != 0 ? tap.verdict(step.findings[i].counted) : 0;
}

__global__ void deliver_kernel(const Deliver step) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t self = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const kernel::CountTap tap = step.tap != nullptr ? *step.tap : kernel::CountTap{};
  if (step.images != nullptr) {
    const std::size_t pieces = step.host_bytes / sizeof(int4);
    for (std::uint32_t i = 0; i < step.stack; ++i) {
      if (work_of(step.order)[i] == 0 || step.findings[i].entries == kernel::cuda::kListOverflow) continue;
      if (tap_verdict(step, tap, i) != 0) continue;
      const auto* from = reinterpret_cast<const int4*>(step.images + i * step.image_stride);
      auto* to = reinterpret_cast<int4*>(step.host_images + i * step.host_stride);
      for (std::size_t piece = self; piece < pieces; piece += threads) __stcs(&to[piece], __ldcs(&from[piece]));
    }
  }
  for (std::size_t i = self; i < step.stack; i += threads) {
    DeviceFinding finding = step.findings[i];
    const std::uint8_t verdict = tap_verdict(step, tap, static_cast<std::uint32_t>(i));
    if (verdict != 0) {
      finding.verdict = verdict;
      finding.step = step.tap_step;
    }
    step.host_findings[i] = finding;
  }
  for (std::size_t i = self; i < std::size_t{step.stack} * step.columns; i += threads) {
    const bool counted =
        step.tap != nullptr && i % step.columns == step.tap_column && work_of(step.order)[i / step.columns] != 0;
    step.host_scalars[i] = counted ? Scalar::of_count(step.findings[i / step.columns].counted) : step.scalars[i];
  }
  // The last block to come here has everybody's stores behind it, and nobody reads the findings any more.
  __threadfence_system();
  __syncthreads();
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicInc(step.blocks_done, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  for (std::size_t i = threadIdx.x; i < step.stack; i += blockDim.x) step.findings[i] = DeviceFinding{};
  for (std::size_t i = threadIdx.x; i < std::size_t{step.stack} * step.columns; i += blockDim.x) {
    step.scalars[i] = Scalar{};
  }
  if (threadIdx.x != 0) return;
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(step.host_done) = step.order->ticket;
}

__device__ bool is_behind(std::uint32_t ticket, std::uint32_t turn) {
  return static_cast<std::int32_t>(ticket - turn) > 0;
}

/// One thread, so that any number of them leaves room for the stack that they wait for.
__global__ void take_turn_kernel(const Order* order, const std::uint32_t* turn) {
  constexpr unsigned kNapNs = 200;
  const std::uint32_t ticket = order->ticket;
  for (;;) {
    const std::uint32_t through = *static_cast<const volatile std::uint32_t*>(turn);
    if (!is_behind(ticket, through) || next_ticket(through) == ticket) break;
    __nanosleep(kNapNs);
  }
  __threadfence();
}

__global__ void give_turn_kernel(const Order* order, std::uint32_t* turn) {
  if (!is_behind(order->ticket, *turn)) return;
  __threadfence();
  *static_cast<volatile std::uint32_t*>(turn) = order->ticket;
}

__global__ void let_darks_on_kernel(Order* order, std::uint32_t stack, DeviceFinding* findings, bool on) {
  auto* const work = reinterpret_cast<std::uint8_t*>(order + 1);
  for (std::uint32_t i = threadIdx.x; i < stack; i += blockDim.x) {
    if (work[stack + i] == 0) continue;
    work[i] = on ? 1 : 0;
    findings[i] = DeviceFinding{};
  }
}

}  // namespace

cudaError_t let_darks_on(Order* order, std::uint32_t stack, DeviceFinding* findings, bool on,
                         cudaStream_t stream) noexcept {
  constexpr unsigned kThreads = 128;
  let_darks_on_kernel<<<1, kThreads, 0, stream>>>(order, stack, findings, on);
  return cudaPeekAtLastError();
}

cudaError_t take_turn(const Order* order, const std::uint32_t* turn, cudaStream_t stream) noexcept {
  take_turn_kernel<<<1, 1, 0, stream>>>(order, turn);
  return cudaPeekAtLastError();
}

cudaError_t give_turn(const Order* order, std::uint32_t* turn, cudaStream_t stream) noexcept {
  give_turn_kernel<<<1, 1, 0, stream>>>(order, turn);
  return cudaPeekAtLastError();
}

cudaError_t deliver(const Deliver& step, cudaStream_t stream) noexcept {
  deliver_kernel<<<step.images != nullptr ? kDeliverBlocks : 1, kDeliverThreads, 0, stream>>>(step);
  return cudaPeekAtLastError();
}

}  // namespace rashpa::unit::cuda
