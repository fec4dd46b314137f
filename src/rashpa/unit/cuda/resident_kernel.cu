// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): a rule says what it says on unit cpu.
#include <algorithm>
#include <cuda/atomic>
#include <iterator>

#include "rashpa/kernel/jungfrau/jungfrau_device.cuh"
#include "rashpa/kernel/peakfinder8/peakfinder8_device.cuh"
#include "rashpa/kernel/peaks_device.cuh"
#include "rashpa/unit/cuda/resident.hpp"
#include "rashpa/unit/cuda/resident_kernel.hpp"

namespace rashpa::unit::cuda {

namespace {

namespace jungfrau = kernel::jungfrau;
namespace device = kernel::jungfrau::cuda;
namespace peakfinder8 = kernel::peakfinder8::cuda;
using jungfrau::Output;

constexpr unsigned kThreads = 256;  // of a block that work
constexpr unsigned kWarps = kThreads / 32;
constexpr std::uint32_t kTilePixels = kThreads * device::kThreadPixels;
constexpr unsigned kWordsAhead = 4;  // of eight pixels, of a thread, on their way over the bus
constexpr unsigned kLooksAtTrigger = 16;
constexpr std::uint32_t kOneBlockTiles = 2;                     // of an image that one block takes
constexpr std::uint32_t kOneBlockItems = 8;                     // tiles of a stack that one block takes
constexpr std::uint32_t kKeptBytes = std::uint32_t{96} << 10U;  // of converted pixels in shared memory

template <typename T>
using OnDevice = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;
template <typename T>
using OnSystem = ::cuda::atomic_ref<T, ::cuda::thread_scope_system>;
template <typename T>
using OnBlock = ::cuda::atomic_ref<T, ::cuda::thread_scope_block>;

/// What a block shares of the stack in hand.
struct Shared {
  unsigned long long claimed;  ///< of the block that watches: the last ticket; kClosed: there will be no other
  std::uint64_t go;            ///< one block: the trigger as it was seen
  std::uint32_t taken;         ///< one block: `go` up to this ticket has been read by all
  std::uint32_t end;           ///< one block: leave
  std::uint32_t gone;          ///< several blocks, that which watches: let go up to this ticket
  std::uint64_t trigger;       ///< several blocks: of the stack in hand; 0: none, leave
  std::uint32_t accepted;
  std::uint32_t reached;                               ///< images that peaks are looked for in
  ResidentCounts counts[kCountSets][kResidentImages];  ///< several blocks: the first set, of this block
  std::uint32_t chunks[kOneBlockItems * kWarps];       ///< one block
  ResidentStep steps[kResidentSteps];                  ///< of the task: parameters of a kernel are slow to read
  DeviceFinding findings[kResidentImages];
  std::uint8_t offset[kWarps][device::kWarpPixels];  ///< of listed pixels in their run
  std::int16_t value[kWarps][device::kWarpPixels];
};

constexpr unsigned long long kClosed = 1ULL << 32U;

__device__ std::uint32_t ticket_of(std::uint64_t trigger) { return static_cast<std::uint32_t>(trigger); }
__device__ std::uint32_t work_of(std::uint64_t trigger) { return static_cast<std::uint32_t>(trigger >> 32U); }

/// The stacks that the host triggers, one after the other.
struct Turn {
  std::uint32_t ticket = 1;
  std::uint32_t slot = 0;
  __device__ void next(std::uint32_t stacks) {
    ticket = next_ticket(ticket);
    slot = slot + 1 == stacks ? 0 : slot + 1;
  }
};

/// No ticket is claimed from here on; the end is told behind the last that was, so that all blocks agree on it.
template <bool kOneBlock>
__device__ void close(const ResidentTask& task, Shared& shared) {
  const unsigned long long before = atomicOr(&shared.claimed, kClosed);
  if ((before & kClosed) != 0) return;
  const auto last = static_cast<std::uint32_t>(before);
  // Another warp may be about to let the last one go.
  if constexpr (kOneBlock) {
    OnBlock<std::uint64_t> go(shared.go);
    while (ticket_of(go.load(::cuda::memory_order_acquire)) != last) {
    }
    OnBlock<std::uint32_t>(shared.end).store(1, ::cuda::memory_order_release);
  } else {
    OnBlock<std::uint32_t> gone(shared.gone);
    while (gone.load(::cuda::memory_order_acquire) != last) {
    }
    OnDevice<std::uint32_t>(task.state->end).store(1, ::cuda::memory_order_release);
  }
}

/// One thread of some warps, each with its own copy of the trigger words, asks the host's memory for the next ticket. A
/// question takes longer than a microsecond over the bus; several that are under way at different times see the trigger
/// sooner than one would. Whoever sees it first claims the ticket and lets those go that work.
template <bool kOneBlock>
__device__ void watch(const ResidentTask& task, Shared& shared, std::uint32_t watcher) {
  if (threadIdx.x % 32 != 0 || watcher >= task.watchers) return;
  OnSystem<std::uint32_t> abort(task.control->abort.value);
  OnSystem<std::uint32_t> first_effect(task.control->seen.value);
  std::uint32_t last = 0;
  Turn turn;
  for (std::uint32_t looks = 1;; ++looks) {
    // What the host wrote before the trigger is seen by everybody who sees that this thread lets them go.
    const std::uint64_t seen =
        OnSystem<std::uint64_t>(task.triggers[turn.slot].copies[watcher].value).load(::cuda::memory_order_acquire);
    if (static_cast<std::int32_t>(ticket_of(seen) - turn.ticket) >= 0) {
      if (atomicCAS(&shared.claimed, static_cast<unsigned long long>(last),
                    static_cast<unsigned long long>(turn.ticket)) == last) {
        if (task.seen_first) first_effect.store(turn.ticket, ::cuda::memory_order_relaxed);
        if constexpr (kOneBlock) {
          OnBlock<std::uint32_t> taken(shared.taken);
          while (taken.load(::cuda::memory_order_acquire) != last) {
          }
          OnBlock<std::uint64_t>(shared.go).store(seen, ::cuda::memory_order_release);
        } else {
          OnDevice<std::uint64_t>(task.go[turn.slot]).store(seen, ::cuda::memory_order_release);
          OnBlock<std::uint32_t> gone(shared.gone);
          while (gone.load(::cuda::memory_order_acquire) != last) {
          }
          gone.store(turn.ticket, ::cuda::memory_order_release);
        }
        if (!task.seen_first) first_effect.store(turn.ticket, ::cuda::memory_order_relaxed);
      }
      last = turn.ticket;
      turn.next(task.stacks);
    } else if (looks % kLooksAtTrigger == 0 && abort.load(::cuda::memory_order_relaxed) != 0) {
      return close<kOneBlock>(task, shared);
    }
  }
}

/// Those that work: one block, beside the warps that watch, or all blocks but the first.
template <bool kOneBlock>
struct Team {
  const ResidentTask& task;
  Shared& shared;
  std::uint32_t arrivals = 0;
  std::uint32_t out = 0;

  __device__ static std::uint32_t block() { return kOneBlock ? 0 : blockIdx.x - 1; }
  __device__ static std::uint32_t blocks() { return kOneBlock ? 1 : gridDim.x - 1; }
  /// All threads of the block that work.
  __device__ static void sync() {
    if constexpr (kOneBlock) {
      asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
    } else {
      __syncthreads();
    }
  }

  /// The trigger of `turn` when it has come; 0: the end has.
  __device__ std::uint64_t await(Turn turn) {
    std::uint64_t seen = 0;
    if constexpr (kOneBlock) {
      // Each warp by itself.
      if (threadIdx.x % 32 == 0) {
        OnBlock<std::uint64_t> go(shared.go);
        OnBlock<std::uint32_t> end(shared.end);
        while (ticket_of(seen = go.load(::cuda::memory_order_acquire)) != turn.ticket) {
          if (end.load(::cuda::memory_order_acquire) == 0) continue;
          seen = go.load(::cuda::memory_order_acquire);
          if (ticket_of(seen) != turn.ticket) seen = 0;
          break;
        }
      }
      return __shfl_sync(~0U, seen, 0);
    } else {
      if (threadIdx.x == 0) {
        OnDevice<std::uint64_t> go(task.go[turn.slot]);
        OnDevice<std::uint32_t> end(task.state->end);
        for (std::uint32_t looks = 1; ticket_of(seen = go.load(::cuda::memory_order_acquire)) != turn.ticket; ++looks) {
          if (looks % kLooksAtTrigger != 0 || end.load(::cuda::memory_order_acquire) == 0) continue;
          // What was let go before the end is done by all blocks.
          seen = go.load(::cuda::memory_order_acquire);
          if (ticket_of(seen) != turn.ticket) seen = 0;
          break;
        }
        shared.trigger = seen;
      }
      __syncthreads();
      return shared.trigger;
    }
  }

  /// All threads: what any of them has stored is seen by all of them.
  __device__ void meet() {
    sync();
    if constexpr (!kOneBlock) {
      arrivals += blocks();
      if (threadIdx.x == 0) {
        OnDevice<std::uint32_t> seen(task.state->arrivals);
        seen.fetch_add(1, ::cuda::memory_order_acq_rel);
        while (static_cast<std::int32_t>(seen.load(::cuda::memory_order_acquire) - arrivals) < 0) {
        }
      }
      __syncthreads();
    }
  }

  /// All threads, behind everything that they have stored in host memory: tells the host, once all blocks are here.
  __device__ void finish(Turn turn) {
    sync();
    out += blocks();
    if (threadIdx.x != 0) return;
    if constexpr (!kOneBlock) {
      __threadfence_system();
      if (OnDevice<std::uint32_t>(task.state->out).fetch_add(1, ::cuda::memory_order_acq_rel) + 1 != out) return;
    }
    OnSystem<std::uint32_t>(task.host_done[turn.slot].value).store(turn.ticket, ::cuda::memory_order_release);
  }
};

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

/// Converted pixels of the tiles of a block, in shared memory where they fit. Each thread reads only what it has put
/// there, but for steps that see the whole image, for which they are in device memory.
template <Output kOutput>
struct Kept {
  static constexpr std::size_t kPixelBytes = kOutput == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  static constexpr std::size_t kTileBytes = kTilePixels * kPixelBytes;
  std::byte* memory;
  std::size_t image_stride;  // bytes
  bool shared;

  /// The k-th tile of the block, which is tile `tile` of the image.
  __device__ std::byte* tile(std::uint32_t image, std::uint32_t k, std::uint32_t tile) const {
    return memory + image * image_stride + (shared ? k : tile) * kTileBytes;
  }
  /// The pieces of 16 bytes of a thread in its tile; the second one of keV only.
  __device__ static std::size_t piece(unsigned half) {
    return device::place_of<kOutput>(threadIdx.x).first * kPixelBytes + half * (device::kWarpPixels / 2) * kPixelBytes;
  }
  static constexpr unsigned kPieces = kOutput == Output::kev ? 2 : 1;
  /// Which of them lie in the image. Images are padded to whole pieces.
  __device__ static bool is_in(std::uint32_t real, unsigned half) {
    return kOutput == Output::kev ? (real >> (4 * half) & 0xFU) != 0 : real != 0;
  }
};

__device__ void put(std::byte* to, const device::Converted<Output::photons>& converted, std::uint32_t real) {
  if (real != 0) *reinterpret_cast<uint4*>(to + Kept<Output::photons>::piece(0)) = converted.photons;
}
__device__ void put(std::byte* to, const device::Converted<Output::kev>& converted, std::uint32_t real) {
  using Of = Kept<Output::kev>;
  if (Of::is_in(real, 0)) *reinterpret_cast<float4*>(to + Of::piece(0)) = converted.low;
  if (Of::is_in(real, 1)) *reinterpret_cast<float4*>(to + Of::piece(1)) = converted.high;
}

/// Converts eight pixels of image `i`, counts them into `counts` and their warp's marked ones into `chunk`.
template <Output kOutput>
__device__ void convert_one(const ResidentTask& task, ResidentCounts& counts, std::uint32_t& chunk, std::byte* to,
                            uint4 words, const device::Entries& entries, device::Place place,
                            device::Thresholds thresholds) {
  constexpr bool kTaps = kOutput == Output::photons;
  const auto converted =
      device::convert_words_at_once<kOutput, kTaps, kTaps>(words, entries, task.tables, place, thresholds);
  put(to, converted, entries.real);
  const bool first = threadIdx.x % 32 == 0;
  if constexpr (kTaps) {
    if (task.taps.count) {
      const std::uint32_t bright = __reduce_add_sync(~0U, __popc(converted.bright));
      if (first && bright != 0) atomicAdd(&counts.bright, bright);
    }
    if (task.taps.mark) {
      const std::uint32_t marked = __reduce_add_sync(~0U, __popc(converted.marks));
      if (first) chunk = marked;
      if (first && marked != 0) atomicAdd(&counts.marked, marked);
    }
  }
  const std::uint32_t masked = __reduce_add_sync(~0U, entries.invalid + static_cast<std::uint32_t>(converted.masked));
  if (first && masked != 0) atomicAdd(&counts.masked, masked);
  if (converted.saturated != 0) atomicAdd(&counts.saturated, converted.saturated);
}

/// What is known of an image of which all pixels are converted. All blocks come to the same.
struct Decided {
  bool accepted = false;
  DeviceFinding finding{};
};
/// `steps`: so many of them, in order; of peaks what `peaks` says.
__device__ Decided decide(const ResidentTask& task, const Shared& shared, std::uint32_t steps,
                          const ResidentCounts& counts, const ResidentPeaks& peaks, Scalar* numbers) {
  Decided decided;
  DeviceFinding& finding = decided.finding;
  decided.accepted = true;
  numbers[task.first_column] = Scalar::of_count(counts.masked);
  numbers[task.first_column + 1] = Scalar::of_count(counts.saturated);
  for (std::uint32_t s = 0; s < steps && decided.accepted; ++s) {
    const ResidentStep& step = shared.steps[s];
    switch (step.kind) {
      case ResidentStep::Kind::count:
        finding.counted = counts.bright;
        numbers[step.column] = Scalar::of_count(counts.bright);
        finding.verdict = step.tap.verdict(counts.bright);
        break;
      case ResidentStep::Kind::rule:
        finding.verdict = kernel::veto::holds(step.operation, step.operations, numbers) ? 0 : 1;
        break;
      case ResidentStep::Kind::peaks:
        numbers[step.column] = Scalar::of_count(peaks.count);
        numbers[step.column + 1] = Scalar::of_real(peaks.intensity);
        if (peaks.count > task.most_peaks) finding.failed = static_cast<std::uint8_t>(step.number + 1);
        break;
      case ResidentStep::Kind::list:
        finding.entries = counts.marked > task.list_capacity ? kernel::cuda::kListOverflow : counts.marked;
        break;
    }
    if (finding.verdict != 0) finding.step = step.number;
    decided.accepted = finding.verdict == 0 && finding.failed == 0 && finding.entries != kernel::cuda::kListOverflow;
  }
  return decided;
}

/// What finding peaks needs besides.
struct PeakWork {
  std::uint32_t step = 0;  ///< of ResidentTask::steps
  peakfinder8::Known known{};
  kernel::SnrRounds rounds{};
  kernel::cuda::MarkedRings::Made rings{};
  kernel::cuda::MarkedRings::Seen seen{};
  kernel::cuda::PeakRoom room{};
  kernel::cuda::PeakTable::Rows rows{};
  std::uint32_t ring_room = 0;  ///< values of a ring in shared memory
  unsigned warps = 0;           ///< of a block, that grow peaks
};

template <typename Work>
__device__ void for_each(std::uint32_t images, Work work) {
  for (; images != 0; images &= images - 1) work(static_cast<std::uint32_t>(__ffs(static_cast<int>(images)) - 1));
}

/// All blocks: the peaks of the images `reached`, as kernels over a stack find them; what follows one there meets here.
__device__ void find_peaks(const ResidentTask& task, const PeakWork& peaks, Team<false>& team, std::uint32_t slot,
                           std::uint32_t reached, std::byte* memory) {
  static_assert(kThreads == kernel::cuda::kRingThreads);
  constexpr std::uint32_t kSeedWords = kTilePixels / 32;
  using Ring = kernel::cuda::Values<std::int16_t, false, true>;
  __shared__ __align__(16) std::uint32_t of_warps[2 * kWarps * sizeof(Ring::Found) / sizeof(std::uint32_t)];
  __shared__ peakfinder8::Seeds<kSeedWords> seeds;
  const std::uint32_t block = Team<false>::block();
  const std::uint32_t blocks = Team<false>::blocks();
  const std::uint32_t rings = peaks.seen.rings;
  const std::uint32_t words = peaks.seen.words;
  const auto pixels_of = [&](std::uint32_t i) {
    return reinterpret_cast<const std::int16_t*>(task.out + i * task.out_stride);
  };
  for_each(reached, [&](std::uint32_t i) {
    if (block == 0 && threadIdx.x == 0) peaks.room.counts[i] = 0;
    for (std::uint32_t ring = block; ring < rings; ring += blocks) {
      const std::uint32_t first = peaks.rings.firsts[ring];
      Ring values(pixels_of(i), peaks.rings.order + first, peaks.rings.firsts[ring + 1] - first, peaks.known.value,
                  reinterpret_cast<Ring::Kept*>(memory), peaks.ring_room, reinterpret_cast<Ring::Found*>(of_warps));
      const kernel::RingLimit limit =
          kernel::cuda::SnrOnDevice{peaks.rounds.min_snr, peaks.rounds.threshold}.limit(values);
      if (threadIdx.x == 0) peaks.rings.limits[std::size_t{i} * rings + ring] = limit;
      __syncthreads();  // the next ring's sums go where these are read
    }
  });
  team.meet();
  for_each(reached, [&](std::uint32_t i) {
    auto* const marks = reinterpret_cast<std::uint8_t*>(peaks.seen.marks + std::size_t{i} * words);
    const auto* const above = reinterpret_cast<const float*>(peaks.rings.limits + std::size_t{i} * rings);
    for (std::uint32_t first = (block * kThreads + threadIdx.x) * kernel::cuda::kMarkedPixels; first < words * 32;
         first += blocks * kTilePixels) {
      marks[first / kernel::cuda::kMarkedPixels] =
          kernel::cuda::marks_of(pixels_of(i), peaks.seen.ring_of, task.tables.pixels, peaks.known.value, above,
                                 sizeof(kernel::RingLimit) / sizeof(float), first);
    }
  });
  team.meet();
  for_each(reached, [&](std::uint32_t i) {
    for (std::uint32_t first = block * kSeedWords; first < words; first += blocks * kSeedWords) {
      peakfinder8::find_peaks<kSeedWords>(pixels_of(i), peaks.known, peaks.seen.marks + std::size_t{i} * words, words,
                                          peaks.rings.limits + std::size_t{i} * rings, i, first, seeds,
                                          reinterpret_cast<std::uint32_t*>(memory), peaks.warps, peaks.room);
    }
  });
  team.meet();
  std::uint32_t turn = 0;
  for_each(reached, [&](std::uint32_t i) {
    if (turn++ % blocks != block) return;
    const std::uint32_t count = peaks.room.counts[i];
    const std::uint32_t rows = count > peaks.room.most ? 0 : count;
    const std::size_t place = std::size_t{slot} * task.stack + i;
    double* const intensities = peaks.rows.intensities + std::size_t{i} * peaks.room.most;
    kernel::cuda::put_in_order<kThreads>(peaks.room.entries + std::size_t{i} * peaks.room.most, rows, 0, 1,
                                         *reinterpret_cast<std::uint64_t(*)[kThreads]>(memory), intensities,
                                         peaks.rows.table + place * peaks.room.most * kernel::cuda::kPeakColumns);
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const double sum = kernel::cuda::sum_in_order(intensities, rows);
    if (threadIdx.x != 0) return;
    task.peaks[i] = {sum, count};
    peaks.rows.found[place] = rows;
    if (rows != count) *peaks.rows.too_many = count;
  });
  team.meet();
}

/// The listed pixels of the warp's run of a tile to host memory. `chunks`: marked pixels of each run of the image.
__device__ void list_run(const ResidentTask& task, Shared& shared, const std::uint32_t* chunks, std::size_t place,
                         std::uint32_t tile, uint4 photons, std::uint32_t real) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t chunk = tile * kWarps + warp;
  const std::int32_t threshold = max(std::int32_t{task.taps.mark_threshold}, kMaskedPhotons + 1);
  std::uint32_t marks = 0;
#pragma unroll
  for (unsigned k = 0; k < device::kThreadPixels; ++k) {
    const auto value = static_cast<std::int16_t>(device::word_of(photons, k));
    marks |= value >= threshold ? 1U << k : 0U;
  }
  marks &= real;
  const std::uint32_t mine = __popc(marks);
  std::uint32_t up_to = mine;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const std::uint32_t left = __shfl_up_sync(~0U, up_to, distance);
    if (lane >= distance) up_to += left;
  }
  const std::uint32_t all = __shfl_sync(~0U, up_to, 31);
  if (all == 0) return;
  std::uint32_t before = 0;
#pragma unroll 8
  for (std::uint32_t c = lane; c < chunk; c += 32) before += chunks[c];
  before = __reduce_add_sync(~0U, before);
  std::uint32_t at = up_to - mine;
#pragma unroll 1
  for (; marks != 0; marks &= marks - 1, ++at) {
    const auto k = static_cast<unsigned>(__ffs(static_cast<int>(marks)) - 1);
    shared.offset[warp][at] = static_cast<std::uint8_t>(lane * device::kThreadPixels + k);
    shared.value[warp][at] = static_cast<std::int16_t>(device::word_of(photons, k));
  }
  __syncwarp();
  std::uint32_t* const index = task.index + place * task.list_stride + before;
  std::int16_t* const value = task.value + place * task.list_stride + before;
  for (std::uint32_t e = lane; e < all; e += 32) {
    __stcs(&index[e], chunk * device::kWarpPixels + shared.offset[warp][e]);
    __stcs(&value[e], shared.value[warp][e]);
  }
  __syncwarp();
}

template <Output kOutput>
__device__ void deliver(const ResidentTask& task, Shared& shared, const Kept<kOutput>& kept,
                        const std::uint32_t* chunks, std::uint32_t chunks_stride, std::uint32_t slot,
                        std::uint32_t accepted, std::uint32_t tiles, std::uint32_t block, std::uint32_t blocks) {
  using Of = Kept<kOutput>;
  for (; accepted != 0; accepted &= accepted - 1) {
    const auto i = static_cast<std::uint32_t>(__ffs(static_cast<int>(accepted)) - 1);
    const std::size_t place = std::size_t{slot} * task.stack + i;
    std::uint32_t k = 0;
    for (std::uint32_t tile = block; tile < tiles; tile += blocks, ++k) {
      const std::uint32_t real =
          device::real_of(device::place_of<kOutput>(tile * kThreads + threadIdx.x), task.tables.pixels);
      const std::byte* const from = kept.tile(i, k, tile);
      uint4 pixels[Of::kPieces];
#pragma unroll
      for (unsigned half = 0; half < Of::kPieces; ++half) {
        if (!Of::is_in(real, half)) continue;
        pixels[half] = *reinterpret_cast<const uint4*>(from + Of::piece(half));
        if (task.host_out == nullptr) continue;
        std::byte* const to = task.host_out + place * task.out_stride + tile * Of::kTileBytes + Of::piece(half);
        __stcs(reinterpret_cast<uint4*>(to), pixels[half]);
      }
      if constexpr (kOutput == Output::photons) {
        if (task.index != nullptr) {
          list_run(task, shared, chunks + i * chunks_stride, place, tile, real != 0 ? pixels[0] : uint4{}, real);
        }
      }
    }
  }
}

/// The first warp, of the first block: findings and scalars to host memory.
__device__ void tell(const ResidentTask& task, const Shared& shared, const Scalar* scalars, std::uint32_t slot) {
  const std::size_t place = std::size_t{slot} * task.stack;
  const auto* const found = reinterpret_cast<const std::uint32_t*>(shared.findings);
  auto* const findings = reinterpret_cast<std::uint32_t*>(task.host_findings + place);
  constexpr std::uint32_t kWords = sizeof(DeviceFinding) / sizeof(std::uint32_t);
  for (std::uint32_t w = threadIdx.x; w < task.stack * kWords; w += 32) findings[w] = found[w];
  for (std::uint32_t c = threadIdx.x; c < task.stack * task.columns; c += 32) {
    task.host_scalars[place * task.columns + c] = scalars[c];
  }
}

/// kHeld: tiles of a block whose calibration its threads keep in registers; 0: they read it for each stack.
/// kPeaks: a step finds peaks; converted pixels are in device memory.
template <Output kOutput, bool kOneBlock, unsigned kHeld, bool kPeaks>
__global__ void __launch_bounds__(kOneBlock ? kThreads + 32 * kWatchers : kThreads)
    resident(const __grid_constant__ ResidentTask task, const __grid_constant__ PeakWork peaks,
             const bool kept_in_shared_memory) {
  static_assert(!kPeaks || (kOutput == Output::photons && !kOneBlock));
  extern __shared__ __align__(16) std::byte dynamic[];
  __shared__ __align__(16) std::uint32_t shared_words[sizeof(Shared) / sizeof(std::uint32_t)];
  for (std::uint32_t w = threadIdx.x; w < std::size(shared_words); w += blockDim.x) shared_words[w] = 0;
  auto& shared = *reinterpret_cast<Shared*>(shared_words);
  __syncthreads();
  if (threadIdx.x < task.step_count) shared.steps[threadIdx.x] = task.steps[threadIdx.x];
  __syncthreads();
  if (kOneBlock && threadIdx.x >= kThreads) return watch<kOneBlock>(task, shared, (threadIdx.x - kThreads) / 32);
  if (!kOneBlock && blockIdx.x == 0) return watch<kOneBlock>(task, shared, threadIdx.x / 32);

  Team<kOneBlock> team{task, shared};
  const std::uint32_t tiles = (task.tables.pixels + kTilePixels - 1) / kTilePixels;
  const std::uint32_t tiles_here =
      team.block() < tiles ? (tiles - team.block() + team.blocks() - 1) / team.blocks() : 0;
  auto* const scalars = reinterpret_cast<Scalar*>(dynamic);
  const std::size_t scalars_bytes = (task.stack * task.columns * sizeof(Scalar) + 15) / 16 * 16;
  const Kept<kOutput> kept{kept_in_shared_memory ? dynamic + scalars_bytes : task.out,
                           kept_in_shared_memory ? tiles_here * Kept<kOutput>::kTileBytes : task.out_stride,
                           kept_in_shared_memory};
  const std::uint32_t image_chunks = tiles * kWarps;
  const device::Thresholds thresholds = device::thresholds_of(task.taps);
  constexpr unsigned kAtOnce = kHeld == 0 ? 1 : kHeld;
  constexpr unsigned kAhead = kWordsAhead / kAtOnce;
  const auto place_of = [&](std::uint32_t k) {
    return device::place_of<kOutput>((team.block() + k * team.blocks()) * kThreads + threadIdx.x);
  };
  device::Entries entries[kAtOnce];
  if constexpr (kHeld != 0) {
#pragma unroll
    for (unsigned k = 0; k < kHeld; ++k) entries[k] = device::load_entries<kOutput>(task.tables, place_of(k));
  }

  std::uint32_t set = 0;
  std::uint32_t odd = 0;
  for (Turn turn;; turn.next(task.stacks)) {
    const std::uint64_t trigger = team.await(turn);
    if (trigger == 0) return;
    ResidentClocks clocks;
    clocks.taken = clock64();
    const std::uint32_t work = work_of(trigger);
    ResidentCounts* const counts = shared.counts[kOneBlock ? set : 0];
    std::uint32_t* const chunks = kOneBlock ? shared.chunks : task.chunks + odd * task.stack * image_chunks;
    const std::byte* const images = task.images + std::size_t{turn.slot} * task.stack * task.image_stride;
    for (std::uint32_t k0 = 0; k0 < tiles_here; k0 += kAtOnce) {
      if constexpr (kHeld == 0) entries[0] = device::load_entries<kOutput>(task.tables, place_of(k0));
      for (std::uint32_t left = work; left != 0;) {
        std::uint32_t image[kAhead];
        uint4 words[kAhead][kAtOnce];
#pragma unroll
        for (unsigned a = 0; a < kAhead; ++a) {
          image[a] = left != 0 ? static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1) : kResidentImages;
          left &= left - 1;
          if (image[a] == kResidentImages) continue;
          const auto* const raw = reinterpret_cast<const std::uint16_t*>(images + image[a] * task.image_stride);
#pragma unroll
          for (unsigned k = 0; k < kAtOnce; ++k) {
            if (k0 + k < tiles_here) {
              words[a][k] = load_from_host<kOutput>(raw, place_of(k0 + k), entries[k].real);
            }
          }
        }
#pragma unroll
        for (unsigned a = 0; a < kAhead; ++a) {
          if (image[a] == kResidentImages) break;
#pragma unroll
          for (unsigned k = 0; k < kAtOnce; ++k) {
            if (k0 + k >= tiles_here) break;
            const std::uint32_t tile = team.block() + (k0 + k) * team.blocks();
            convert_one<kOutput>(
                task, counts[image[a]], chunks[image[a] * image_chunks + tile * kWarps + threadIdx.x / 32],
                kept.tile(image[a], k0 + k, tile), words[a][k], entries[k], place_of(k0 + k), thresholds);
          }
        }
      }
    }
    clocks.read = clock64();
    if constexpr (!kOneBlock) {
      // The block's counts to those of all blocks.
      __syncthreads();
      if (threadIdx.x < task.stack) {
        ResidentCounts& own = counts[threadIdx.x];
        ResidentCounts& all = task.counts[set * task.stack + threadIdx.x];
        if (own.masked != 0) atomicAdd(&all.masked, own.masked);
        if (own.saturated != 0) atomicAdd(&all.saturated, own.saturated);
        if (own.bright != 0) atomicAdd(&all.bright, own.bright);
        if (own.marked != 0) atomicAdd(&all.marked, own.marked);
        own = ResidentCounts{};
      }
    }
    team.meet();
    clocks.counted = clock64();
    const bool is_image = threadIdx.x < task.stack && (work >> (threadIdx.x % 32) & 1U) != 0;
    Scalar* const numbers = scalars + threadIdx.x * task.columns;  // of the first threads
    ResidentCounts found;
    if (is_image) {
      if constexpr (kOneBlock) {
        found = counts[threadIdx.x];
      } else {
        const uint4 words = __ldcg(reinterpret_cast<const uint4*>(task.counts + set * task.stack + threadIdx.x));
        found = {words.x, words.y, words.z, words.w};
      }
    }
    if constexpr (kPeaks) {
      if (threadIdx.x < 32) {
        const bool reaches = is_image && decide(task, shared, peaks.step, found, {}, numbers).accepted;
        const std::uint32_t reached = __ballot_sync(~0U, reaches);
        if (threadIdx.x == 0) shared.reached = reached;
      }
      __syncthreads();
      if (shared.reached != 0) find_peaks(task, peaks, team, turn.slot, shared.reached, dynamic + scalars_bytes);
    }
    if (threadIdx.x < 32) {
      Decided decided;
      if (threadIdx.x < task.stack) {
        for (std::uint32_t c = 0; c < task.columns; ++c) numbers[c] = Scalar{};
        if (is_image) {
          ResidentPeaks of_image;
          if constexpr (kPeaks) {
            const ResidentPeaks& from = task.peaks[threadIdx.x];
            of_image = {__ldcg(&from.intensity), __ldcg(&from.count)};
          }
          decided = decide(task, shared, task.step_count, found, of_image, numbers);
        }
        shared.findings[threadIdx.x] = decided.finding;
        // Nobody looks at the set before this one any more, and nobody adds to it before the next meeting.
        const std::uint32_t other = set == 0 ? kCountSets - 1 : set - 1;
        if constexpr (kOneBlock) {
          shared.counts[other][threadIdx.x] = ResidentCounts{};
        } else if (team.block() == 0) {
          task.counts[other * task.stack + threadIdx.x] = ResidentCounts{};
        }
      }
      const std::uint32_t accepted = __ballot_sync(~0U, decided.accepted);
      if (threadIdx.x == 0) shared.accepted = accepted;
      if constexpr (kOneBlock) {
        if (threadIdx.x == 0) OnBlock<std::uint32_t>(shared.taken).store(turn.ticket, ::cuda::memory_order_release);
      }
    }
    team.sync();
    clocks.decided = clock64();
    if (team.block() == 0 && threadIdx.x < 32) {
      tell(task, shared, scalars, turn.slot);
      __syncwarp();
      if (task.tells_first && threadIdx.x == 0) {
        OnSystem<std::uint32_t>(task.host_decided[turn.slot].value).store(turn.ticket, ::cuda::memory_order_release);
        if constexpr (!kOneBlock) {
          OnDevice<std::uint32_t>(task.state->told).store(turn.ticket, ::cuda::memory_order_release);
        }
      }
    }
    if (!kOneBlock && task.tells_first && shared.accepted != 0) {
      // Pixels would stand in the decision's way over the bus.
      if (threadIdx.x == 0) {
        OnDevice<std::uint32_t> told(task.state->told);
        while (told.load(::cuda::memory_order_acquire) != turn.ticket) {
        }
      }
      __syncthreads();
    }
    deliver(task, shared, kept, chunks, image_chunks, turn.slot, shared.accepted, tiles, team.block(), team.blocks());
    if (task.host_clocks != nullptr && team.block() == 0 && threadIdx.x == 0) {
      clocks.stored = clock64();
      *task.host_clocks = clocks;
    }
    team.finish(turn);
    set = set + 1 == kCountSets ? 0 : set + 1;
    odd = 1 - odd;
  }
}

using Kernel = void (*)(ResidentTask, PeakWork, bool);

template <Output kOutput>
Kernel kernel_for(bool one_block, std::uint32_t tiles_of_block) noexcept {
  if (one_block) return resident<kOutput, true, kOneBlockTiles, false>;
  return tiles_of_block == 1 ? resident<kOutput, false, 1, false> : resident<kOutput, false, 0, false>;
}
Kernel kernel_with_peaks(std::uint32_t tiles_of_block) noexcept {
  return tiles_of_block == 1 ? resident<Output::photons, false, 1, true> : resident<Output::photons, false, 0, true>;
}

/// The work of a step, and the bytes of shared memory that it needs.
PeakWork work_of(const peakfinder8::Pass& pass, const ResidentTask& task, std::size_t& bytes) noexcept {
  constexpr std::uint32_t kRoomBytes = std::uint32_t{128} << 10U;
  PeakWork work{};
  while (work.step < task.step_count && task.steps[work.step].kind != ResidentStep::Kind::peaks) ++work.step;
  work.known = pass.known();
  work.rounds = pass.rounds();
  work.rings = pass.rings().made(0);
  work.seen = pass.rings().seen(0);
  work.room = pass.peaks().room(0);
  work.rows = pass.peaks().rows(0);
  work.ring_room = std::min<std::uint32_t>(work.rings.longest, kRoomBytes / sizeof(std::int32_t));
  const std::uint32_t grow_bytes = 3 * sizeof(std::uint32_t) * work.known.max_pixels;
  work.warps = std::clamp(kRoomBytes / std::max(1U, grow_bytes), 1U, kWarps);
  bytes = std::max({std::size_t{work.ring_room} * sizeof(std::int32_t), std::size_t{work.warps} * grow_bytes,
                    kThreads * sizeof(std::uint64_t)});
  return work;
}

}  // namespace

cudaError_t start_resident(const ResidentTask& task, const peakfinder8::Pass* peaks, cudaStream_t stream) noexcept {
  int number = 0;
  int processors = 0;
  cudaError_t code = cudaGetDevice(&number);
  if (code == cudaSuccess) code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number);
  if (code != cudaSuccess) return code;
  const std::uint32_t tiles = (task.tables.pixels + kTilePixels - 1) / kTilePixels;
  ResidentTask argument = task;
  std::size_t peak_bytes = 0;
  PeakWork peak_work{};
  if (peaks != nullptr) {
    peak_work = work_of(*peaks, task, peak_bytes);
    argument.most_peaks = peak_work.room.most;
  }
  const bool one_block =
      task.one_block && peaks == nullptr && tiles <= kOneBlockTiles && tiles * task.stack <= kOneBlockItems;
  const auto most = std::max(2U, static_cast<std::uint32_t>(processors)) - 1;
  const std::uint32_t workers = one_block ? 1 : std::min(std::max(tiles, peak_work.seen.rings), most);
  const std::uint32_t tiles_of_block = (tiles + workers - 1) / workers;
  const bool kev = task.output == Output::kev;
  const auto kernel = peaks != nullptr ? kernel_with_peaks(tiles_of_block)
                      : kev            ? kernel_for<Output::kev>(one_block, tiles_of_block)
                                       : kernel_for<Output::photons>(one_block, tiles_of_block);
  const std::size_t tile_bytes = kev ? Kept<Output::kev>::kTileBytes : Kept<Output::photons>::kTileBytes;
  const std::size_t scalars = (task.stack * task.columns * sizeof(Scalar) + 15) / 16 * 16;
  const std::size_t pixels = task.stack * tiles_of_block * tile_bytes;
  bool in_shared_memory = peaks == nullptr && pixels <= kKeptBytes;
  const std::size_t dynamic = scalars + (in_shared_memory ? pixels : peak_bytes);
  code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(dynamic));
  if (code != cudaSuccess) return code;
  const unsigned threads = one_block ? kThreads + 32 * task.watchers : kThreads;
  void* arguments[] = {&argument, &peak_work, &in_shared_memory};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(one_block ? 1 : workers + 1),
                                     dim3(threads), arguments, dynamic, stream);
}

}  // namespace rashpa::unit::cuda
