// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The synchronisation of the resident kernel's blocks with one another and with the host: the block that polls for
/// triggers, the blocks that work on released images, their barriers, and their end.
#include <cstdint>
#include <cuda/atomic>

#include "rashpa/kernel/jungfrau/jungfrau_device.cuh"
#include "rashpa/unit/cuda/resident/resident_kernel.hpp"

namespace rashpa::unit::cuda::resident_device {

namespace device = kernel::jungfrau::cuda;

constexpr unsigned kThreads = 256;  // of a block that work
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kLooksAtTrigger = 16;

template <typename T>
using OnDevice = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;
template <typename T>
using OnSystem = ::cuda::atomic_ref<T, ::cuda::thread_scope_system>;
template <typename T>
using OnBlock = ::cuda::atomic_ref<T, ::cuda::thread_scope_block>;

/// The common rhythm of polling threads that look for the same.
struct Rhythm {
  std::uint32_t period;  ///< clock cycles between two reads of a polling thread; 0: not measured yet
  long long epoch;       ///< clock64() when the first polling thread read
};

/// The words between the polling warps of a block and the working ones.
struct Watched {
  unsigned long long claimed;  ///< the last ticket, by the polling block; kClosed: there will be no other
  std::uint64_t go;            ///< with one block: the trigger as it was read
  std::uint32_t taken;         ///< with one block: all threads have read `go` up to this ticket
  std::uint32_t end;           ///< with one block: 1 ends the kernel
  std::uint32_t gone;          ///< with several blocks, in the polling one: released up to this ticket
  Rhythm triggers;             ///< of threads that poll for triggers
  Rhythm looks;                ///< of warps that poll for last words
  LastWord last_words[kResidentDtps];
};

/// The memory in which a warp puts the listed pixels of its run.
struct RunRoom {
  std::uint8_t offset[device::kWarpPixels];  ///< offset in the run
  std::int16_t value[device::kWarpPixels];
};

/// The shared state of a block, one of several, for the present stack.
struct Shared : Watched {
  std::uint64_t trigger;  ///< trigger of the present stack; another value ends the block
  std::uint32_t accepted;
  std::uint32_t reached;                   ///< mask of images in which peaks are searched
  ResidentCounts counts[kResidentImages];  ///< counts of this block
  ResidentStep steps[kResidentSteps];      ///< copy of the task's steps, since kernel parameters are slow to read
  DeviceFinding findings[kResidentImages];
  RunRoom runs[kWarps];
};

constexpr unsigned long long kClosed = 1ULL << 32U;

__device__ inline std::uint32_t work_of(std::uint64_t trigger) { return static_cast<std::uint32_t>(trigger >> 32U); }

/// The stacks that the host triggers, one after another.
struct Turn {
  std::uint32_t ticket = 1;
  std::uint32_t slot = 0;
  __device__ void next(std::uint32_t stacks) {
    ticket = next_ticket(ticket);
    slot = slot + 1 == stacks ? 0 : slot + 1;
  }
};

/// Ends the claiming of tickets. The end comes after the last claimed ticket, so that all blocks agree on it.
template <bool kOneBlock>
__device__ void close(const ResidentTask& task, Watched& shared) {
  const unsigned long long before = atomicOr(&shared.claimed, kClosed);
  if ((before & kClosed) != 0) return;
  const auto last = static_cast<std::uint32_t>(before);
  // Another warp may be about to let the last one go. Acquire its `go` or `gone`; release the end behind.
  if constexpr (kOneBlock) {
    OnBlock<std::uint64_t> go(shared.go);
    while (!is_of(go.load(::cuda::memory_order_acquire), last)) {
    }
    OnBlock<std::uint32_t>(shared.end).store(1, ::cuda::memory_order_release);
  } else {
    OnBlock<std::uint32_t> gone(shared.gone);
    while (gone.load(::cuda::memory_order_acquire) != last) {
    }
    OnDevice<std::uint32_t>(task.state->end).store(1, ::cuda::memory_order_release);
  }
}

/// Spreads a polling thread's reads evenly between those of the others. Otherwise several would come at once, and then
/// none for half a microsecond. After a read that returns late, the next one follows at once.
class Pace {
 public:
  __device__ Pace(Rhythm& rhythm, bool even, std::uint32_t watcher, std::uint32_t watchers)
      : rhythm_(rhythm), watcher_(watcher), watchers_(watchers), even_(even && watchers > 1) {}
  __device__ void wait() {
    if (!even_) return;
    if (period_ == 0) {
      if (!begin()) return;
    }
    next_ += period_;
    long long now = clock64();
    if (now < next_) {
      while (clock64() < next_) {
      }
      return;
    }
    while (next_ + period_ < now) next_ += period_;
  }

 private:
  static constexpr std::uint32_t kMeasured = 64;  // questions
  /// Measures the period in the first polling thread; returns false while it is unknown.
  __device__ bool begin() {
    OnBlock<std::uint32_t> period(rhythm_.period);  // release by watcher 0 with `epoch`, acquire by the others
    if (watcher_ == 0) {
      if (looks_ == 0) next_ = clock64();
      if (looks_++ != kMeasured) return false;
      const auto taken = static_cast<std::uint32_t>(clock64() - next_) / kMeasured;
      rhythm_.epoch = next_;
      period.store(taken + taken / 8, ::cuda::memory_order_release);
    }
    period_ = period.load(::cuda::memory_order_acquire);
    if (period_ == 0) return false;
    next_ = rhythm_.epoch + period_ * watcher_ / watchers_;
    // Behind now, on the grid; once.
    next_ += (clock64() - next_) / period_ * period_;
    return true;
  }
  Rhythm& rhythm_;
  std::uint32_t watcher_, watchers_;
  bool even_;
  std::uint32_t looks_ = 0;
  long long period_ = 0, next_ = 0;
};

/// Claims the ticket of `turn`, behind `last`, and releases the working blocks with `trigger`. Does nothing when
/// another warp has claimed it. `how`: the reason why the stack begins.
template <bool kOneBlock>
__device__ void let_go(const ResidentTask& task, Watched& shared, const Turn& turn, std::uint32_t last,
                       std::uint64_t trigger, Begun how) {
  if (atomicCAS(&shared.claimed, static_cast<unsigned long long>(last), static_cast<unsigned long long>(turn.ticket)) !=
      last) {
    return;
  }
  // relaxed, this and the next: the host takes them as signs of life, and as a fact only behind the ticket of the
  // results
  OnSystem<std::uint32_t>(task.control->seen.value).store(turn.ticket, ::cuda::memory_order_relaxed);
  if (task.starts != nullptr) {
    // relaxed: as above
    OnSystem<std::uint64_t>(task.starts[turn.slot].value)
        .store(start_value(turn.ticket, how), ::cuda::memory_order_relaxed);
  }
  if constexpr (kOneBlock) {  // acquire: the team or a warp is done with the last; release: `trigger`
    OnBlock<std::uint32_t> taken(shared.taken);
    while (taken.load(::cuda::memory_order_acquire) != last) {
    }
    OnBlock<std::uint64_t>(shared.go).store(trigger, ::cuda::memory_order_release);
  } else {
    // release: blocks that see `trigger` see what this warp has seen; acquire: the last one is gone for this block's
    // end
    OnDevice<std::uint64_t>(task.go[turn.slot]).store(trigger, ::cuda::memory_order_release);
    OnBlock<std::uint32_t> gone(shared.gone);
    while (gone.load(::cuda::memory_order_acquire) != last) {
    }
    gone.store(turn.ticket, ::cuda::memory_order_release);
  }
}

/// Polls host memory for the next ticket, by one thread of some warps, each with its own copy of the trigger words. A
/// read over the bus takes longer than a microsecond; several in flight at different times detect the trigger sooner.
/// The thread that sees it first claims the ticket and releases the working blocks.
template <bool kOneBlock>
__device__ void watch_triggers(const ResidentTask& task, Watched& shared, std::uint32_t watcher) {
  if (threadIdx.x % 32 != 0) return;
  OnSystem<std::uint32_t> abort(task.control->abort.value);
  std::uint32_t last = 0;
  Turn turn;
  Pace pace(shared.triggers, task.even, watcher, task.watchers);
  for (std::uint32_t looks = 1;; ++looks) {
    pace.wait();
    // The host's writes before the trigger are visible to every thread that sees this thread's release.
    const std::uint64_t seen =
        OnSystem<std::uint64_t>(task.triggers[turn.slot].copies[watcher].value).load(::cuda::memory_order_acquire);
    if (has_come(seen, turn.ticket)) {
      let_go<kOneBlock>(task, shared, turn, last, seen, Begun::by_host);
      last = turn.ticket;
      turn.next(task.stacks);
      // relaxed: the host sets the word, and this thread of the device looks at it again and again
    } else if (looks % kLooksAtTrigger == 0 && abort.load(::cuda::memory_order_relaxed) != 0) {
      return close<kOneBlock>(task, shared);
    }
  }
}

template <bool kOneBlock>
__device__ void watch_words(const ResidentTask& task, Watched& shared, std::uint32_t watcher);  // resident_words.cuh

/// Polls by the warps of a block: `warp` 0 … watchers − 1 for the host's triggers, those behind for last words.
template <bool kOneBlock>
__device__ void watch(const ResidentTask& task, Watched& shared, std::uint32_t warp) {
  if (warp < task.watchers) return watch_triggers<kOneBlock>(task, shared, warp);
  if (warp < task.watchers + task.word_watchers) {
    watch_words<kOneBlock>(task, shared, warp - task.watchers);
  }
}

/// The working blocks: all except the first.
struct Team {
  const ResidentTask& task;
  Shared& shared;
  std::uint32_t arrivals = 0;
  std::uint32_t out = 0;

  __device__ static std::uint32_t block() { return blockIdx.x - 1; }
  __device__ static std::uint32_t blocks() { return gridDim.x - 1; }

  /// Returns the trigger of `turn` when it has come; another value when the kernel ends.
  __device__ std::uint64_t await(Turn turn) {
    if (threadIdx.x == 0) {  // acquire: stores that the watcher released with `go`, and all before `end`
      std::uint64_t seen = 0;
      OnDevice<std::uint64_t> go(task.go[turn.slot]);
      OnDevice<std::uint32_t> end(task.state->end);
      for (std::uint32_t looks = 1; !is_of(seen = go.load(::cuda::memory_order_acquire), turn.ticket); ++looks) {
        if (looks % kLooksAtTrigger != 0 || end.load(::cuda::memory_order_acquire) == 0) continue;
        // All blocks finish stacks that were let go before the end.
        seen = go.load(::cuda::memory_order_acquire);
        break;
      }
      shared.trigger = seen;
    }
    __syncthreads();
    return shared.trigger;
  }

  /// Makes all stores of any thread visible to all threads, by acquire and release of thread 0. All threads call it.
  __device__ void meet() {
    __syncthreads();
    arrivals += blocks();
    if (threadIdx.x == 0) {
      OnDevice<std::uint32_t> seen(task.state->arrivals);
      seen.fetch_add(1, ::cuda::memory_order_acq_rel);
      while (static_cast<std::int32_t>(seen.load(::cuda::memory_order_acquire) - arrivals) < 0) {
      }
    }
    __syncthreads();
  }

  /// Signals the host once all blocks are here. All threads call it after their stores to host memory.
  __device__ void finish(Turn turn) {
    __syncthreads();
    out += blocks();
    if (threadIdx.x != 0) return;
    __threadfence_system();
    // acq_rel: the last block has the stores of all; release: the host's thread acquires `host_done`
    if (OnDevice<std::uint32_t>(task.state->out).fetch_add(1, ::cuda::memory_order_acq_rel) + 1 != out) return;
    OnSystem<std::uint32_t>(task.host_done[turn.slot].value).store(turn.ticket, ::cuda::memory_order_release);
  }
};

}  // namespace rashpa::unit::cuda::resident_device
