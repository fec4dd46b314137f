// SPDX-License-Identifier: Apache-2.0
#include <cuda/atomic>

#include "rashpa/unit/cuda/joint/exchange.hpp"

namespace rashpa::unit::cuda {

namespace {

constexpr unsigned kThreads = 256;

// Written by one device and read by another.
template <typename T>
using Shared = ::cuda::atomic_ref<T, ::cuda::thread_scope_system>;

__device__ std::uint64_t now_ns() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ Box& box_of(const Exchange& step, std::uint32_t member) {
  return *reinterpret_cast<Box*>(step.boxes + member * box_bytes(std::size_t{step.stack} * (step.end - step.first)));
}

__device__ Shared<std::uint64_t> number_of(Box& box, std::uint32_t number) {
  return Shared<std::uint64_t>(reinterpret_cast<std::uint64_t*>(&box + 1)[number]);
}

__device__ Scalar& scalar_of(const Exchange& step, std::uint32_t number) {
  const std::uint32_t width = step.end - step.first;
  return step.scalars[std::size_t{number / width} * step.columns + step.first + number % width];
}

/// Returns false when it does not come.
__device__ bool wait_for(const Exchange& step, std::uint32_t member, std::uint32_t ticket) {
  constexpr unsigned kNapNs = 100;
  constexpr unsigned kLooks = 16;  // at the ticket, between looks whether it is over
  const Shared<std::uint32_t> there(box_of(step, member).ticket);
  const Shared<std::uint32_t> over(*step.over);
  const std::uint64_t begin = now_ns();
  for (;;) {
    for (unsigned look = 0; look < kLooks; ++look) {
      // acquire: the other member released its ticket behind its numbers, which this thread then reads
      if (there.load(::cuda::memory_order_acquire) == ticket) return true;
      __nanosleep(kNapNs);
    }
    if (over.load(::cuda::memory_order_relaxed) != static_cast<std::uint32_t>(Over::no)) return false;
    if (now_ns() - begin < kLongestWaitNs) continue;
    over.store(static_cast<std::uint32_t>(Over::silent), ::cuda::memory_order_relaxed);
    return false;
  }
}

__global__ void __launch_bounds__(kThreads) exchange_kernel(const Exchange step) {
  const std::uint32_t ticket = step.order->ticket;
  const std::uint32_t numbers = step.stack * (step.end - step.first);
  Box& own = box_of(step, step.self);
  for (std::uint32_t i = threadIdx.x; i < numbers; i += kThreads) {
    // relaxed: the fence below orders the numbers before this member's ticket, by which the others acquire them
    number_of(own, i).store(scalar_of(step, i).count(), ::cuda::memory_order_relaxed);
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) Shared<std::uint32_t>(own.ticket).store(ticket, ::cuda::memory_order_release);  // its numbers
  const bool waits = threadIdx.x < step.members && threadIdx.x != step.self;
  const bool came = !waits || wait_for(step, threadIdx.x, ticket);
  __threadfence_system();
  if (__syncthreads_and(came ? 1 : 0) == 0) {
    for (std::uint32_t i = threadIdx.x; i < step.stack; i += kThreads) {
      if (step.work[i] == 0) continue;
      step.findings[i].lost = 1;
      step.work[i] = 0;
    }
    return;
  }
  for (std::uint32_t i = threadIdx.x; i < numbers; i += kThreads) {
    std::uint64_t sum = 0;
    for (std::uint32_t member = 0; member < step.members; ++member) {
      // relaxed: the thread that waited for this member acquired its ticket, and the fence orders that before here
      sum += number_of(box_of(step, member), i).load(::cuda::memory_order_relaxed);
    }
    scalar_of(step, i) = Scalar::of_count(sum);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < step.stack && step.bound_count != 0; i += kThreads) {
    if (step.work[i] == 0) continue;
    const Scalar* const own_columns = step.scalars + std::size_t{i} * step.columns + step.bound_column;
    const std::uint8_t verdict = kernel::verdict_of(step.bounds, step.bound_count, own_columns);
    if (verdict == 0) continue;
    step.findings[i].verdict = verdict;
    step.findings[i].step = step.step;
    step.work[i] = 0;
  }
}

}  // namespace

cudaError_t exchange(const Exchange& step, cudaStream_t stream) noexcept {
  exchange_kernel<<<1, kThreads, 0, stream>>>(step);
  return cudaPeekAtLastError();
}

}  // namespace rashpa::unit::cuda
