// SPDX-License-Identifier: Apache-2.0
#include <cuda/atomic>

#include "rashpa/unit/cuda/word/records.cuh"
#include "rashpa/unit/cuda/word/watch.hpp"

namespace rashpa::unit::cuda {

namespace {

using namespace word_device;

constexpr unsigned kThreads = 256;
constexpr unsigned kNapNs = 100;

/// The words of the host, read by threads of a warp of their own, beside the lock words: each read crosses the bus.
enum Said : unsigned { kAbort, kTrigger, kPulse, kSaid };
constexpr unsigned kFirstListener = kThreads - 32;

template <typename T>
using OnSystem = ::cuda::atomic_ref<T, ::cuda::thread_scope_system>;

__device__ std::uint64_t now_ns() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

constexpr unsigned kWarps = kThreads / 32;

/// Returns true in all threads when the records of all images are good.
__device__ bool records_good(const Watch& watch, std::uint64_t first, std::uint32_t records) {
  bool good = true;
  for (std::uint32_t i = threadIdx.x / 32; i < records; i += kWarps) {
    const RecordPlace place(watch.words, watch.dtps, first, i);
    good = is_good(place, place.read()) && good;
  }
  return __syncthreads_and(good ? 1 : 0) != 0;
}

/// The state of the wait of thread 0.
struct Patience {
  std::uint32_t pulse = 0;
  std::uint64_t since = 0;
};

__device__ void listen(const Watch& watch, std::uint32_t (&said)[kSaid]) {
  const unsigned number = threadIdx.x - kFirstListener;
  if (number >= kSaid) return;  // also threads below the first, whose number wraps
  const std::uint32_t& word = number == kAbort     ? watch.control->abort.value
                              : number == kTrigger ? watch.control->trigger.value
                                                   : watch.control->pulse.value;
  said[number] = acquired(word);
}

__device__ Begun decide(const Watch& watch, const std::uint32_t (&said)[kSaid], std::uint32_t ticket, bool good,
                        Patience& patience) {
  if (said[kAbort] != 0) return Begun::ended;
  if (*static_cast<volatile std::uint32_t*>(watch.over) != 0) return Begun::alone;
  if (static_cast<std::int32_t>(said[kTrigger] - ticket) >= 0) return Begun::by_host;
  if (good) return Begun::by_word;
  const std::uint32_t pulse = said[kPulse];
  const std::uint64_t now = now_ns();
  if (pulse != patience.pulse || patience.since == 0) {
    patience = {pulse, now};
  } else if (now - patience.since > kAloneNs) {
    *static_cast<volatile std::uint32_t*>(watch.over) = 1;
    return Begun::alone;
  }
  return Begun::no;
}

__global__ void __launch_bounds__(kThreads) watch_kernel(const __grid_constant__ Watch watch) {
  __shared__ Begun how;
  __shared__ std::uint32_t said[kSaid];
  const std::uint32_t ticket = watch.order->ticket;
  const std::uint32_t images = watch.order->images;
  const std::uint64_t first = watch.order->first;
  const std::uint64_t last = first + images - 1;
  const std::uint32_t records = images * watch.dtps;
  const unsigned warp = threadIdx.x / 32;
  Patience patience;
  bool by_words = true;  // until records turn out to be for the host
  Begun begun = Begun::no;
  while (begun == Begun::no) {
    listen(watch, said);
    // Few records are read beside the words, each by a warp: one way across the bus for both. A record that is good has
    // been written, whenever it was read; one that is not is read again behind the words.
    const bool early = by_words && records <= kWarps;
    const std::uint32_t seen = early && warp < records ? RecordPlace(watch.words, watch.dtps, first, warp).read() : 0;
    bool there = by_words;
    for (std::uint32_t d = threadIdx.x; d < watch.dtps && there; d += kThreads) {
      there = has_written(acquired(*watch.words[d].word), watch.words[d].dtp, last);
    }
    const bool all = __syncthreads_and(there ? 1 : 0) != 0;
    if (all) {
      const bool good = early && (warp >= records || is_good(RecordPlace(watch.words, watch.dtps, first, warp), seen));
      by_words = __syncthreads_and(good ? 1 : 0) != 0 || records_good(watch, first, records);
    }
    if (threadIdx.x == 0) how = decide(watch, said, ticket, all && by_words, patience);
    __syncthreads();
    begun = how;
    __syncthreads();  // all have read it before it is written again
    if (begun == Begun::no) __nanosleep(kNapNs);
  }
  if (begun == Begun::by_host) {
    auto* const to = reinterpret_cast<uint4*>(watch.order);
    const auto* const from = reinterpret_cast<const uint4*>(watch.by_host);
    for (std::uint32_t i = threadIdx.x; i < watch.order_bytes / sizeof(uint4); i += kThreads) to[i] = __ldcv(&from[i]);
  } else if (begun != Begun::by_word) {
    auto* const work = reinterpret_cast<std::uint8_t*>(watch.order + 1);
    for (std::uint32_t i = threadIdx.x; i < 2 * watch.stack; i += kThreads) work[i] = 0;
  }
  if (threadIdx.x == 0) {
    OnSystem<std::uint64_t>(watch.start->value)  // release: the host reads it behind the ticket of the results
        .store(start_value(ticket, begun), ::cuda::memory_order_release);
  }
}

}  // namespace

cudaError_t watch(const Watch& watch, cudaStream_t stream) noexcept {
  watch_kernel<<<1, kThreads, 0, stream>>>(watch);
  return cudaPeekAtLastError();
}

}  // namespace rashpa::unit::cuda
