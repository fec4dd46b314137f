#include "rashpa/core/decision.hpp"
#include "rashpa/kernel/csr/csr_cuda.hpp"
#include "rashpa/unit/cuda/stage_kernels.hpp"

namespace rashpa::unit::cuda {

namespace {

// Few blocks fill the bus, and leave the rest of the device to the next stack's conversion.
constexpr unsigned kDeliverBlocks = 32;
constexpr unsigned kDeliverThreads = 512;

__device__ const std::uint8_t* work_of(const Order* order) { return reinterpret_cast<const std::uint8_t*>(order + 1); }

__global__ void decide_kernel(const Decide step) {
  for (std::uint32_t i = threadIdx.x; i < step.stack; i += blockDim.x) {
    Outcome outcome{};
    if (i < step.order->images && work_of(step.order)[i] != 0) {
      const kernel::jungfrau::Counts counts = step.counts[i];
      outcome.masked = counts.masked;
      outcome.saturated = counts.saturated;
      outcome.bright = counts.bright;
      const VetoReason reason = step.veto ? kernel::bragg_count::decide(step.config, counts.bright) : VetoReason::none;
      outcome.reason = static_cast<std::uint8_t>(reason);
      outcome.decision = static_cast<std::uint8_t>(reason == VetoReason::none ? Decision::accepted : Decision::vetoed);
    }
    step.counts[i] = kernel::jungfrau::Counts{};
    step.outcomes[i] = outcome;
    step.accepted[i] = outcome.decision == static_cast<std::uint8_t>(Decision::accepted) ? 1 : 0;
  }
}

__global__ void deliver_kernel(const Deliver step) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t self = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (step.images != nullptr) {
    const std::size_t pieces = step.image_bytes / sizeof(int4);
    for (std::uint32_t i = 0; i < step.stack; ++i) {
      if (step.accepted[i] == 0) continue;
      const auto* from = reinterpret_cast<const int4*>(step.images + i * step.image_bytes);
      auto* to = reinterpret_cast<int4*>(step.host_images + i * step.image_bytes);
      for (std::size_t piece = self; piece < pieces; piece += threads) __stcs(&to[piece], __ldcs(&from[piece]));
    }
  }
  for (std::size_t i = self; i < step.stack; i += threads) {
    Outcome outcome = step.outcomes[i];
    if (step.entries != nullptr && step.accepted[i] != 0) {
      outcome.entries = step.entries[i];
      if (outcome.entries == kernel::csr::cuda::kOverflow32) {
        outcome.entries = 0;
        outcome.decision = static_cast<std::uint8_t>(Decision::errored);
      }
    }
    step.host_outcomes[i] = outcome;
  }
  // The last block to come here has everybody's stores behind it.
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (atomicInc(step.blocks_done, gridDim.x - 1) != gridDim.x - 1) return;
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(step.host_done) = step.order->ticket;
}

}  // namespace

cudaError_t decide(const Decide& step, cudaStream_t stream) noexcept {
  constexpr unsigned kThreads = 128;
  decide_kernel<<<1, kThreads, 0, stream>>>(step);
  return cudaPeekAtLastError();
}

cudaError_t deliver(const Deliver& step, cudaStream_t stream) noexcept {
  deliver_kernel<<<step.images != nullptr ? kDeliverBlocks : 1, kDeliverThreads, 0, stream>>>(step);
  return cudaPeekAtLastError();
}

}  // namespace rashpa::unit::cuda
