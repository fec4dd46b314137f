// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): a rule says what it says on unit cpu.
/// The resident kernel for small images: one block watches and works. All calibration of its pixels is in registers and
/// shared memory before the first trigger comes. Pixels and lists leave for host memory as they are made, and not
/// only when the image is accepted: nobody looks at those of one that is not, and they are few.
#include <cstdint>
#include <iterator>

#include "rashpa/unit/cuda/resident/resident_kernel.hpp"
#include "rashpa/unit/cuda/resident/resident_steps.cuh"
#include "rashpa/unit/cuda/resident/resident_team.cuh"
#include "rashpa/unit/cuda/resident/resident_words.cuh"

namespace rashpa::unit::cuda {

namespace {

using namespace resident_device;

constexpr unsigned kWorkers = 512;  // threads; eight pixels each
constexpr unsigned kRuns = kWorkers / 32;
constexpr std::uint32_t kMostPixels = kWorkers * device::kThreadPixels;
constexpr std::uint32_t kMostTiles = 8;  // of a stack, 2048 pixels each
constexpr std::uint32_t kMostImages = kMostTiles;
constexpr unsigned kAhead = 2;  // images of which words are on their way over the bus

struct SmallShared : Watched {
  ResidentCounts counts[kCountSets][kMostImages];
  std::uint32_t chunks[kMostImages * kRuns];
  ResidentStep steps[kResidentSteps];  // of the task: parameters of a kernel are slow to read
  DeviceFinding findings[kMostImages];
  ResidentClocks clocks;  // of the first thread
  RunRoom runs[kRuns];
};

/// Room in dynamic shared memory, behind SmallShared. Each thread reads only its own entries, but for `numbers`.
struct Room {
  float2* other;   // [G1, G2][of a thread][thread]: calibration
  uint4* photons;  // [image][thread]: of images that are listed
  Scalar* numbers;

  static constexpr std::size_t kOtherBytes = 2 * std::size_t{kMostPixels} * sizeof(float2);
  __host__ __device__ static std::size_t photon_bytes(const ResidentTask& task) {
    return task.index == nullptr ? 0 : std::size_t{task.stack} * kWorkers * sizeof(uint4);
  }
  __host__ __device__ static std::size_t bytes(const ResidentTask& task) {
    return kOtherBytes + photon_bytes(task) + std::size_t{task.stack} * task.columns * sizeof(Scalar);
  }
  __device__ Room(const ResidentTask& task, std::byte* memory)
      : other(reinterpret_cast<float2*>(memory)),
        photons(reinterpret_cast<uint4*>(memory + kOtherBytes)),
        numbers(reinterpret_cast<Scalar*>(memory + kOtherBytes + photon_bytes(task))) {}
  __device__ float2& calibration(std::uint32_t code, unsigned k) const {
    return other[((code == 3 ? device::kThreadPixels : 0U) + k) * kWorkers + threadIdx.x];
  }
};

/// All threads that work.
__device__ __forceinline__ void sync() { asm volatile("bar.sync 1, %0;" ::"n"(kWorkers) : "memory"); }

/// Waits for the trigger of `turn` and returns it. Returns the trigger of another turn when the run has ended. Each
/// warp waits by itself.
__device__ std::uint64_t await(Watched& watched, Turn turn) {
  std::uint64_t seen = 0;
  if (threadIdx.x % 32 == 0) {  // acquire: stores that the watcher released with `go`, and all before `end`
    OnBlock<std::uint64_t> go(watched.go);
    OnBlock<std::uint32_t> end(watched.end);
    while (!is_of(seen = go.load(::cuda::memory_order_acquire), turn.ticket)) {
      if (end.load(::cuda::memory_order_acquire) == 0) continue;
      seen = go.load(::cuda::memory_order_acquire);
      break;
    }
  }
  return __shfl_sync(~0U, seen, 0);
}

/// Eight converted pixels to their place in host memory. Images are padded to whole pieces.
__device__ void leave(std::byte* to, const device::Converted<Output::photons>& converted, std::uint32_t real) {
  if (real != 0) __stcs(reinterpret_cast<uint4*>(to + Kept<Output::photons>::piece(0)), converted.photons);
}
__device__ void leave(std::byte* to, const device::Converted<Output::kev>& converted, std::uint32_t real) {
  using Of = Kept<Output::kev>;
  if (Of::is_in(real, 0)) __stcs(reinterpret_cast<float4*>(to + Of::piece(0)), converted.low);
  if (Of::is_in(real, 1)) __stcs(reinterpret_cast<float4*>(to + Of::piece(1)), converted.high);
}

template <Output kOutput>
__global__ void __launch_bounds__(kWorkers + 32 * kWatchers) resident_small(const __grid_constant__ ResidentTask task) {
  constexpr bool kTaps = kOutput == Output::photons;
  extern __shared__ __align__(16) std::byte dynamic[];
  __shared__ __align__(16) std::uint32_t shared_words[sizeof(SmallShared) / sizeof(std::uint32_t)];
  for (std::uint32_t w = threadIdx.x; w < std::size(shared_words); w += blockDim.x) shared_words[w] = 0;
  auto& shared = *reinterpret_cast<SmallShared*>(shared_words);
  __syncthreads();
  if (threadIdx.x < task.step_count) shared.steps[threadIdx.x] = own_step(task, threadIdx.x);
  if (threadIdx.x < task.dtps) shared.last_words[threadIdx.x] = task.words[threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= kWorkers) return watch<true>(task, shared, (threadIdx.x - kWorkers) / 32);

  const Room room(task, dynamic);
  const unsigned run = threadIdx.x / 32;
  const device::Place place = device::place_of<kOutput>(threadIdx.x);
  const device::Entries entries = device::load_entries<kOutput>(task.tables, place);
  for (unsigned k = 0; k < device::kThreadPixels; ++k) {
    if ((entries.real >> k & 1U) == 0) continue;
    const std::uint32_t pixel = device::pixel_of(place, k);
    for (const std::uint32_t code : {1U, 3U}) room.calibration(code, k) = device::other_entry(task.tables, code, pixel);
  }
  const device::Thresholds thresholds = device::thresholds_of(task.taps);
  const auto other = [&](std::uint32_t code, unsigned k) { return room.calibration(code, k); };

  std::uint32_t set = 0;
  for (Turn turn;; turn.next(task.stacks)) {
    const std::uint64_t trigger = await(shared, turn);
    if (!is_of(trigger, turn.ticket)) return;
    const auto note = [&](long long ResidentClocks::*stage) {
      if (threadIdx.x == 0) shared.clocks.*stage = clock64();
    };
    note(&ResidentClocks::taken);
    const std::uint32_t work = work_of(trigger);
    const std::size_t first_place = std::size_t{turn.slot} * task.stack;
    const std::byte* const images = task.images + first_place * task.image_stride;
    for (std::uint32_t left = work; left != 0;) {
      std::uint32_t image[kAhead];
      uint4 words[kAhead];
#pragma unroll
      for (unsigned a = 0; a < kAhead; ++a) {
        image[a] = left != 0 ? static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1) : kMostImages;
        left &= left - 1;
        if (image[a] == kMostImages) continue;
        const auto* const raw = reinterpret_cast<const std::uint16_t*>(images + image[a] * task.image_stride);
        words[a] = load_from_host<kOutput>(raw, place, entries.real);
      }
#pragma unroll
      for (unsigned a = 0; a < kAhead; ++a) {
        if (image[a] == kMostImages) break;
        const auto converted =
            device::convert_words_together<kOutput, kTaps, kTaps>(words[a], entries, thresholds, other);
        if (task.host_out != nullptr) {
          leave(task.host_out + (first_place + image[a]) * task.out_stride, converted, entries.real);
        }
        if constexpr (kTaps) {
          if (task.index != nullptr) room.photons[image[a] * kWorkers + threadIdx.x] = converted.photons;
        }
        tally(task, shared.counts[set][image[a]], shared.chunks[image[a] * kRuns + run], converted, entries.invalid);
      }
    }
    note(&ResidentClocks::read);
    sync();
    note(&ResidentClocks::counted);
    if (threadIdx.x == kWorkers - 1) {  // release: the watcher may let the next one go
      OnBlock<std::uint32_t>(shared.taken).store(turn.ticket, ::cuda::memory_order_release);
    }
    if (threadIdx.x < 32) {
      if (changes_limits(trigger)) take_limits(task, shared.steps, turn.slot);
      if (threadIdx.x < task.stack) {
        Scalar* const numbers = room.numbers + threadIdx.x * task.columns;
        for (std::uint32_t c = 0; c < task.columns; ++c) numbers[c] = Scalar{};
        Decided decided;
        if ((work >> threadIdx.x & 1U) != 0) {
          decided = decide(task, shared.steps, task.step_count, shared.counts[set][threadIdx.x], {}, numbers);
        }
        shared.findings[threadIdx.x] = decided.finding;
        // Nobody looks at the set before this one any more, and nobody adds to it before all have met again.
        shared.counts[set == 0 ? kCountSets - 1 : set - 1][threadIdx.x] = ResidentCounts{};
      }
      __syncwarp();
      note(&ResidentClocks::decided);
      tell(task, shared.findings, room.numbers, turn.slot);
      __syncwarp();
      if (task.tells_first && threadIdx.x == 0) {  // release: the host sees the findings
        OnSystem<std::uint32_t>(task.host_decided[turn.slot].value).store(turn.ticket, ::cuda::memory_order_release);
      }
    }
    if constexpr (kTaps) {
      if (task.index != nullptr) {
        for (std::uint32_t left = work; left != 0; left &= left - 1) {
          const auto i = static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
          if (shared.counts[set][i].marked > task.list_capacity) continue;
          list_run(task, shared.runs[run], shared.chunks + i * kRuns, first_place + i, run,
                   room.photons[i * kWorkers + threadIdx.x], entries.real);
        }
        sync();
      }
    }
    if (threadIdx.x == 0) {  // release: the host sees all that is stored
      if (task.host_clocks != nullptr) {
        shared.clocks.stored = clock64();
        *task.host_clocks = shared.clocks;
      }
      OnSystem<std::uint32_t>(task.host_done[turn.slot].value).store(turn.ticket, ::cuda::memory_order_release);
    }
    set = set + 1 == kCountSets ? 0 : set + 1;
  }
}

}  // namespace

bool fits_one_block(const ResidentTask& task) noexcept {
  const std::uint32_t tiles = (task.tables.pixels + kTilePixels - 1) / kTilePixels;
  return task.tables.pixels <= kMostPixels && tiles * task.stack <= kMostTiles;
}

cudaError_t start_small(const ResidentTask& task, cudaStream_t stream) noexcept {
  const auto kernel = task.output == Output::kev ? resident_small<Output::kev> : resident_small<Output::photons>;
  const std::size_t bytes = Room::bytes(task);
  const cudaError_t code =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (code != cudaSuccess) return code;
  kernel<<<1, kWorkers + 32 * (task.watchers + task.word_watchers), bytes, stream>>>(task);
  return cudaGetLastError();
}

}  // namespace rashpa::unit::cuda
