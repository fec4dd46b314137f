// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cuda/atomic>

#include "rashpa/kernel/jungfrau/jungfrau_device.cuh"
#include "rashpa/unit/cuda/resident.hpp"
#include "rashpa/unit/cuda/resident_kernel.hpp"

namespace rashpa::unit::cuda {

namespace {

namespace jungfrau = kernel::jungfrau;
namespace device = kernel::jungfrau::cuda;
using jungfrau::Output;

constexpr unsigned kThreads = 256;
constexpr unsigned kAhead = 4;  // images whose words are on their way over the bus
constexpr unsigned kLooksAtTrigger = 16;

template <typename T>
using OnDevice = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;
template <typename T>
using OnSystem = ::cuda::atomic_ref<T, ::cuda::thread_scope_system>;

/// What a block shares of the stack in hand.
struct Shared {
  std::uint32_t end;
  std::uint32_t work;
  std::uint32_t accepted;
  unsigned long long claimed;  ///< of the block that watches: the last ticket; kClosed: there will be no other
};

constexpr unsigned long long kClosed = 1ULL << 32U;

/// No ticket is claimed from here on; the end is told behind the last that was, so that all blocks agree on it.
__device__ void close(const ResidentTask& task, unsigned long long& claimed) {
  const unsigned long long before = atomicOr(&claimed, kClosed);
  if ((before & kClosed) != 0) return;
  OnDevice<std::uint32_t> go(task.state->go);
  while (go.load(::cuda::memory_order_acquire) != static_cast<std::uint32_t>(before)) {
  }
  OnDevice<std::uint32_t>(task.state->end).store(1, ::cuda::memory_order_release);
}

/// The first block only watches: one thread of some of its warps, each with its own copy of the trigger words, asks the
/// host's memory for the next ticket. A question takes longer than a microsecond over the bus; several that are under
/// way at different times see the trigger sooner than one would. Whoever sees it first claims the ticket and lets the
/// other blocks go.
__device__ void watch(const ResidentTask& task, unsigned long long& claimed) {
  const std::uint32_t watcher = threadIdx.x / 32;
  if (threadIdx.x % 32 != 0 || watcher >= task.watchers) return;
  OnSystem<std::uint32_t> abort(task.control->abort.value);
  std::uint32_t last = 0;
  std::uint32_t ticket = 1;
  std::uint32_t slot = 0;
  for (std::uint32_t looks = 1;; ++looks) {
    const std::uint64_t seen =
        OnSystem<std::uint64_t>(task.triggers[slot].copies[watcher].value).load(::cuda::memory_order_relaxed);
    if (static_cast<std::int32_t>(static_cast<std::uint32_t>(seen) - ticket) >= 0) {
      if (atomicCAS(&claimed, static_cast<unsigned long long>(last), static_cast<unsigned long long>(ticket)) == last) {
        OnSystem<std::uint32_t>(task.control->seen.value).store(ticket, ::cuda::memory_order_relaxed);
        // What the host wrote before the trigger is seen by everybody who sees `go`.
        ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_system);
        task.work[slot] = static_cast<std::uint32_t>(seen >> 32U);
        OnDevice<std::uint32_t> go(task.state->go);
        while (go.load(::cuda::memory_order_acquire) != last) {  // another warp is about to store the ticket before
        }
        go.store(ticket, ::cuda::memory_order_release);
      }
      last = ticket;
      ticket = next_ticket(ticket);
      slot = slot + 1 == task.stacks ? 0 : slot + 1;
    } else if (looks % kLooksAtTrigger == 0 && abort.load(::cuda::memory_order_relaxed) != 0) {
      return close(task, claimed);
    }
  }
}

/// Until `ticket` may be processed; false when it is the end.
__device__ bool await_go(const ResidentTask& task, std::uint32_t ticket) {
  OnDevice<std::uint32_t> go(task.state->go);
  OnDevice<std::uint32_t> end(task.state->end);
  while (static_cast<std::int32_t>(go.load(::cuda::memory_order_acquire) - ticket) < 0) {
    // What was let go before the end is done by all blocks.
    if (end.load(::cuda::memory_order_acquire) != 0) {
      return static_cast<std::int32_t>(go.load(::cuda::memory_order_acquire) - ticket) >= 0;
    }
  }
  return true;
}

// Blocks that work: all but the first.
__device__ std::uint32_t worker() { return blockIdx.x - 1; }
__device__ std::uint32_t workers() { return gridDim.x - 1; }

/// All threads: everything stored before is seen by those who wait for `arrivals`; with kToHost by the host, too.
template <bool kToHost>
__device__ void arrive(ResidentState& state) {
  if constexpr (kToHost) {
    __threadfence_system();
  } else {
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) OnDevice<std::uint32_t>(state.arrivals).fetch_add(1, ::cuda::memory_order_acq_rel);
}
__device__ void await_arrivals(ResidentState& state, std::uint32_t arrivals) {
  if (threadIdx.x == 0) {
    OnDevice<std::uint32_t> seen(state.arrivals);
    while (static_cast<std::int32_t>(seen.load(::cuda::memory_order_acquire) - arrivals) < 0) {
    }
  }
  __syncthreads();
}

/// Eight raw words of host memory, which the host may have written since the last look.
template <Output kOutput>
__device__ uint4 load_from_host(const std::uint16_t* raw, device::Place place, std::uint32_t real) {
  if (real == 0xFF) {
    if constexpr (kOutput == Output::photons) return __ldcv(reinterpret_cast<const uint4*>(raw + place.first));
    const uint2 low = __ldcv(reinterpret_cast<const uint2*>(raw + place.first));
    const uint2 high = __ldcv(reinterpret_cast<const uint2*>(raw + place.second));
    return {low.x, low.y, high.x, high.y};
  }
  const auto* const words = reinterpret_cast<const volatile std::uint16_t*>(raw);
  const auto pair = [&](unsigned k) {
    const std::uint32_t low = (real >> k & 1U) != 0 ? words[device::pixel_of(place, k)] : 0;
    const std::uint32_t high = (real >> (k + 1) & 1U) != 0 ? words[device::pixel_of(place, k + 1)] : 0;
    return low | high << 16U;
  };
  return {pair(0), pair(2), pair(4), pair(6)};
}

template <Output kOutput, bool kCount>
__device__ void convert_one(const ResidentTask& task, jungfrau::Counts* set, std::uint32_t i, uint4 words,
                            const device::Entries& entries, device::Place place, device::Thresholds thresholds) {
  const auto converted = device::convert_words<kOutput, kCount, false>(words, entries, task.tables, place, thresholds);
  device::store(converted, task.out + i * task.out_stride, place, entries.real);
  jungfrau::Counts& counts = set[i];
  if constexpr (kCount) {
    const std::uint32_t bright = __reduce_add_sync(~0U, __popc(converted.bright));
    if (threadIdx.x % 32 == 0 && bright != 0) atomicAdd(&counts.bright, bright);
  }
  const std::uint32_t masked = __reduce_add_sync(~0U, entries.invalid + static_cast<std::uint32_t>(converted.masked));
  if (threadIdx.x % 32 == 0 && masked != 0) atomicAdd(&counts.masked, masked);
  if (converted.saturated != 0) atomicAdd(&counts.saturated, converted.saturated);
}

template <Output kOutput, bool kCount>
__device__ void convert(const ResidentTask& task, jungfrau::Counts* set, std::uint32_t slot, std::uint32_t work,
                        device::Thresholds thresholds) {
  const std::byte* const images = task.images + std::size_t{slot} * task.stack * task.image_stride;
  const std::uint32_t tiles =
      (task.tables.pixels + kThreads * device::kThreadPixels - 1) / (kThreads * device::kThreadPixels);
  for (std::uint32_t tile = worker(); tile < tiles; tile += workers()) {
    const device::Place place = device::place_of<kOutput>(tile * kThreads + threadIdx.x);
    const device::Entries entries = device::load_entries<kOutput>(task.tables, place);
    for (std::uint32_t left = work; left != 0;) {
      std::uint32_t image[kAhead];
      uint4 words[kAhead];
#pragma unroll
      for (unsigned a = 0; a < kAhead; ++a) {
        image[a] = left != 0 ? static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1) : kResidentImages;
        left &= left - 1;
        if (image[a] == kResidentImages) continue;
        words[a] = load_from_host<kOutput>(
            reinterpret_cast<const std::uint16_t*>(images + image[a] * task.image_stride), place, entries.real);
      }
#pragma unroll
      for (unsigned a = 0; a < kAhead; ++a) {
        if (image[a] == kResidentImages) break;
        convert_one<kOutput, kCount>(task, set, image[a], words[a], entries, place, thresholds);
      }
    }
  }
}

/// What is known of an image of which all pixels are converted.
struct Outcome {
  std::uint32_t masked = 0;
  std::uint32_t saturated = 0;
  std::uint32_t counted = 0;
  std::uint8_t verdict = 0;
  bool accepted = false;
};

/// Each block comes to the same decisions from the counts; the first warp, an image a lane.
__device__ Outcome decide(const ResidentTask& task, jungfrau::Counts* set, std::uint32_t work, std::uint32_t i) {
  Outcome outcome{};
  if (i >= task.stack || (work >> i & 1U) == 0) return outcome;
  outcome.masked = OnDevice<std::uint32_t>(set[i].masked).load(::cuda::memory_order_relaxed);
  outcome.saturated = OnDevice<std::uint32_t>(set[i].saturated).load(::cuda::memory_order_relaxed);
  outcome.counted = OnDevice<std::uint32_t>(set[i].bright).load(::cuda::memory_order_relaxed);
  outcome.verdict = task.veto ? task.count.verdict(outcome.counted) : 0;
  outcome.accepted = outcome.verdict == 0;
  return outcome;
}

__device__ void tell(const ResidentTask& task, std::size_t place, const Outcome& outcome) {
  DeviceFinding finding{};
  finding.verdict = outcome.verdict;
  finding.step = 1;
  task.host_findings[place] = finding;
  Scalar* const scalars = task.host_scalars + place * task.columns;
  scalars[task.first_column] = Scalar::of_count(outcome.masked);
  scalars[task.first_column + 1] = Scalar::of_count(outcome.saturated);
  if (task.veto) scalars[task.count_column] = Scalar::of_count(outcome.counted);
}

__device__ void deliver(const ResidentTask& task, std::uint32_t slot, std::uint32_t accepted) {
  const std::size_t threads = std::size_t{workers()} * kThreads;
  const std::size_t self = std::size_t{worker()} * kThreads + threadIdx.x;
  for (; accepted != 0; accepted &= accepted - 1) {
    const auto i = static_cast<std::uint32_t>(__ffs(static_cast<int>(accepted)) - 1);
    const auto* const from = reinterpret_cast<const int4*>(task.out + i * task.out_stride);
    auto* const to = reinterpret_cast<int4*>(task.host_out + (std::size_t{slot} * task.stack + i) * task.out_stride);
    for (std::size_t at = self; at < task.out_stride / sizeof(int4); at += threads) __stcs(&to[at], __ldcg(&from[at]));
  }
}

template <Output kOutput, bool kCount>
__global__ void __launch_bounds__(kThreads) resident(const ResidentTask task) {
  __shared__ Shared shared;
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) shared.claimed = 0;
    __syncthreads();
    return watch(task, shared.claimed);
  }
  const device::Thresholds thresholds = device::thresholds_of(task.taps);
  std::uint32_t ticket = 1;
  std::uint32_t slot = 0;
  std::uint32_t arrivals = 0;
  std::uint32_t turn = 0;
  for (;;) {
    if (threadIdx.x == 0) {
      shared.end = await_go(task, ticket) ? 0 : 1;
      shared.work = *static_cast<volatile std::uint32_t*>(&task.work[slot]);
    }
    __syncthreads();
    if (shared.end != 0) return;
    // Two sets of counts in turn: the other one is cleared while nobody uses it.
    jungfrau::Counts* const set = task.counts + turn * task.stack;
    convert<kOutput, kCount>(task, set, slot, shared.work, thresholds);
    arrivals += workers();
    arrive<false>(*task.state);
    await_arrivals(*task.state, arrivals);
    if (threadIdx.x < 32) {
      const Outcome outcome = decide(task, set, shared.work, threadIdx.x);
      const std::uint32_t accepted = __ballot_sync(~0U, outcome.accepted);
      if (threadIdx.x == 0) shared.accepted = accepted;
      if (worker() == 0 && threadIdx.x < task.stack) {
        tell(task, std::size_t{slot} * task.stack + threadIdx.x, outcome);
        task.counts[(1 - turn) * task.stack + threadIdx.x] = jungfrau::Counts{};
      }
    }
    __syncthreads();
    deliver(task, slot, shared.accepted);
    arrivals += workers();
    arrive<true>(*task.state);
    await_arrivals(*task.state, arrivals);  // by all: the next images go where these have been
    if (worker() == 0 && threadIdx.x == 0) {
      OnSystem<std::uint32_t>(task.host_done[slot].value).store(ticket, ::cuda::memory_order_release);
    }
    ticket = next_ticket(ticket);
    slot = slot + 1 == task.stacks ? 0 : slot + 1;
    turn = 1 - turn;
  }
}

const void* kernel_for(const ResidentTask& task) noexcept {
  if (task.output == Output::kev) return reinterpret_cast<const void*>(resident<Output::kev, false>);
  return task.taps.count ? reinterpret_cast<const void*>(resident<Output::photons, true>)
                         : reinterpret_cast<const void*>(resident<Output::photons, false>);
}

}  // namespace

cudaError_t start_resident(const ResidentTask& task, cudaStream_t stream) noexcept {
  int number = 0;
  int processors = 0;
  cudaError_t code = cudaGetDevice(&number);
  if (code == cudaSuccess) code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number);
  if (code != cudaSuccess) return code;
  const std::uint32_t tiles =
      (task.tables.pixels + kThreads * device::kThreadPixels - 1) / (kThreads * device::kThreadPixels);
  const auto blocks = 1 + std::min(tiles, static_cast<std::uint32_t>(processors));
  ResidentTask argument = task;
  void* arguments[] = {&argument};
  return cudaLaunchCooperativeKernel(kernel_for(task), dim3(blocks), dim3(kThreads), arguments, 0, stream);
}

}  // namespace rashpa::unit::cuda
