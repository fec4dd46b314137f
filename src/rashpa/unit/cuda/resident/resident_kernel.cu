// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): a rule says what it says on unit cpu.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "rashpa/unit/cuda/resident/resident_kernel.hpp"
#include "rashpa/unit/cuda/resident/resident_peaks.cuh"
#include "rashpa/unit/cuda/resident/resident_steps.cuh"
#include "rashpa/unit/cuda/resident/resident_team.cuh"
#include "rashpa/unit/cuda/resident/resident_words.cuh"

namespace rashpa::unit::cuda {

namespace {

using namespace resident_device;

constexpr unsigned kWordsAhead = 4;  // of eight pixels, of a thread, on their way over the bus
constexpr std::uint32_t kKeptBytes = std::uint32_t{96} << 10U;  // of converted pixels in shared memory

/// kHeld: tiles of a block whose calibration its threads keep in registers; 0: they read it for each stack.
/// kPeaks: a step finds peaks; converted pixels are in device memory.
template <Output kOutput, unsigned kHeld, bool kPeaks>
__global__ void __launch_bounds__(kThreads)
    resident(const __grid_constant__ ResidentTask task, const __grid_constant__ PeakWork peaks,
             const bool kept_in_shared_memory) {
  static_assert(!kPeaks || kOutput == Output::photons);
  extern __shared__ __align__(16) std::byte dynamic[];
  __shared__ __align__(16) std::uint32_t shared_words[sizeof(Shared) / sizeof(std::uint32_t)];
  for (std::uint32_t w = threadIdx.x; w < std::size(shared_words); w += blockDim.x) shared_words[w] = 0;
  auto& shared = *reinterpret_cast<Shared*>(shared_words);
  __syncthreads();
  if (threadIdx.x < task.step_count) shared.steps[threadIdx.x] = own_step(task, threadIdx.x);
  if (threadIdx.x < task.dtps) shared.last_words[threadIdx.x] = task.words[threadIdx.x];
  __syncthreads();
  if (blockIdx.x == 0) return watch<false>(task, shared, threadIdx.x / 32);

  Team team{task, shared};
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
    if (!is_of(trigger, turn.ticket)) return;
    ResidentClocks clocks;
    clocks.taken = clock64();
    const std::uint32_t work = work_of(trigger);
    std::uint32_t* const chunks = task.chunks + odd * task.stack * image_chunks;
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
                task, shared.counts[image[a]], chunks[image[a] * image_chunks + tile * kWarps + threadIdx.x / 32],
                kept.tile(image[a], k0 + k, tile), words[a][k], entries[k], place_of(k0 + k), thresholds);
          }
        }
      }
    }
    clocks.read = clock64();
    // The block's counts to those of all blocks.
    __syncthreads();
    if (threadIdx.x < task.stack) {
      ResidentCounts& own = shared.counts[threadIdx.x];
      ResidentCounts& all = task.counts[set * task.stack + threadIdx.x];
      if (own.masked != 0) atomicAdd(&all.masked, own.masked);
      if (own.saturated != 0) atomicAdd(&all.saturated, own.saturated);
      if (own.bright != 0) atomicAdd(&all.bright, own.bright);
      if (own.marked != 0) atomicAdd(&all.marked, own.marked);
      own = ResidentCounts{};
    }
    team.meet();
    clocks.counted = clock64();
    const bool is_image = threadIdx.x < task.stack && (work >> (threadIdx.x % 32) & 1U) != 0;
    Scalar* const numbers = scalars + threadIdx.x * task.columns;  // of the first threads
    ResidentCounts found;
    if (is_image) {
      const uint4 words = __ldcg(reinterpret_cast<const uint4*>(task.counts + set * task.stack + threadIdx.x));
      found = {words.x, words.y, words.z, words.w};
    }
    if (threadIdx.x < 32 && changes_limits(trigger)) take_limits(task, shared.steps, turn.slot);
    if constexpr (kPeaks) {
      if (threadIdx.x < 32) {
        const bool reaches = is_image && decide(task, shared.steps, peaks.step, found, {}, numbers).accepted;
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
            of_image = {__ldcg(&from.intensity), __ldcg(&from.count), __ldcg(&from.empty)};
          }
          decided = decide(task, shared.steps, task.step_count, found, of_image, numbers);
        }
        shared.findings[threadIdx.x] = decided.finding;
        // Nobody looks at the set before this one any more, and nobody adds to it before the next meeting.
        const std::uint32_t other = set == 0 ? kCountSets - 1 : set - 1;
        if (team.block() == 0) task.counts[other * task.stack + threadIdx.x] = ResidentCounts{};
      }
      const std::uint32_t accepted = __ballot_sync(~0U, decided.accepted);
      if (threadIdx.x == 0) shared.accepted = accepted;
    }
    __syncthreads();
    clocks.decided = clock64();
    if (team.block() == 0 && threadIdx.x < 32) {
      tell(task, shared.findings, scalars, turn.slot);
      __syncwarp();
      if (task.tells_first && threadIdx.x == 0) {  // release: the host sees findings, other blocks the decision
        OnSystem<std::uint32_t>(task.host_decided[turn.slot].value).store(turn.ticket, ::cuda::memory_order_release);
        OnDevice<std::uint32_t>(task.state->told).store(turn.ticket, ::cuda::memory_order_release);
      }
    }
    if (task.tells_first && shared.accepted != 0) {
      // Pixels would stand in the decision's way over the bus.
      if (threadIdx.x == 0) {
        OnDevice<std::uint32_t> told(task.state->told);
        while (told.load(::cuda::memory_order_acquire) != turn.ticket) {  // acquire: block 0 has told the host
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
Kernel kernel_for(std::uint32_t tiles_of_block) noexcept {
  return tiles_of_block == 1 ? resident<kOutput, 1, false> : resident<kOutput, 0, false>;
}
Kernel kernel_with_peaks(std::uint32_t tiles_of_block) noexcept {
  return tiles_of_block == 1 ? resident<Output::photons, 1, true> : resident<Output::photons, 0, true>;
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
  if (task.one_block && peaks == nullptr && fits_one_block(task)) return start_small(task, stream);
  const auto most = std::max(2U, static_cast<std::uint32_t>(processors)) - 1;
  const std::uint32_t workers = std::min(std::max(tiles, peak_work.seen.rings), most);
  const std::uint32_t tiles_of_block = (tiles + workers - 1) / workers;
  const bool kev = task.output == Output::kev;
  const auto kernel = peaks != nullptr ? kernel_with_peaks(tiles_of_block)
                      : kev            ? kernel_for<Output::kev>(tiles_of_block)
                                       : kernel_for<Output::photons>(tiles_of_block);
  const std::size_t tile_bytes = kev ? Kept<Output::kev>::kTileBytes : Kept<Output::photons>::kTileBytes;
  const std::size_t scalars = (task.stack * task.columns * sizeof(Scalar) + 15) / 16 * 16;
  const std::size_t pixels = task.stack * tiles_of_block * tile_bytes;
  bool in_shared_memory = peaks == nullptr && pixels <= kKeptBytes;
  const std::size_t dynamic = scalars + (in_shared_memory ? pixels : peak_bytes);
  code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(dynamic));
  if (code != cudaSuccess) return code;
  void* arguments[] = {&argument, &peak_work, &in_shared_memory};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(workers + 1), dim3(kThreads),
                                     arguments, dynamic, stream);
}

}  // namespace rashpa::unit::cuda
