// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The work of the resident kernel on an image: conversion of words in host memory, the decision, and the results for
/// host memory.
#include <cstddef>
#include <cstdint>

#include "rashpa/unit/cuda/resident/resident_team.cuh"

namespace rashpa::unit::cuda::resident_device {

namespace jungfrau = kernel::jungfrau;
using jungfrau::Output;

constexpr std::uint32_t kTilePixels = kThreads * device::kThreadPixels;

/// Loads eight raw words of host memory, which the host may have written since the last read.
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

/// The converted pixels of a block's tiles, in shared memory where they fit. Each thread reads only its own pixels. For
/// steps that read the whole image, the pixels are in device memory.
template <Output kOutput>
struct Kept {
  static constexpr std::size_t kPixelBytes = kOutput == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  static constexpr std::size_t kTileBytes = kTilePixels * kPixelBytes;
  std::byte* memory;
  std::size_t image_stride;  // bytes
  bool shared;

  /// Returns the k-th tile of the block, which is tile `tile` of the image.
  __device__ std::byte* tile(std::uint32_t image, std::uint32_t k, std::uint32_t tile) const {
    return memory + image * image_stride + (shared ? k : tile) * kTileBytes;
  }
  /// Returns the place of a thread's 16 bytes in its tile; only keV has a second half.
  __device__ static std::size_t piece(unsigned half) {
    return device::place_of<kOutput>(threadIdx.x).first * kPixelBytes + half * (device::kWarpPixels / 2) * kPixelBytes;
  }
  static constexpr unsigned kPieces = kOutput == Output::kev ? 2 : 1;
  /// Returns true when that half lies in the image. Images are padded to whole pieces.
  __device__ static bool is_in(std::uint32_t real, unsigned half) {
    return kOutput == Output::kev ? (real >> (4 * half) & 0xFU) != 0 : real != 0;
  }
};

__device__ inline void put(std::byte* to, const device::Converted<Output::photons>& converted, std::uint32_t real) {
  if (real != 0) *reinterpret_cast<uint4*>(to + Kept<Output::photons>::piece(0)) = converted.photons;
}
__device__ inline void put(std::byte* to, const device::Converted<Output::kev>& converted, std::uint32_t real) {
  using Of = Kept<Output::kev>;
  if (Of::is_in(real, 0)) *reinterpret_cast<float4*>(to + Of::piece(0)) = converted.low;
  if (Of::is_in(real, 1)) *reinterpret_cast<float4*>(to + Of::piece(1)) = converted.high;
}

/// Counts eight converted pixels of each thread of a warp into those of the image and, for marked pixels, of the warp's
/// run.
template <Output kOutput>
__device__ void tally(const ResidentTask& task, ResidentCounts& counts, std::uint32_t& chunk,
                      const device::Converted<kOutput>& converted, std::uint32_t invalid) {
  const bool first = threadIdx.x % 32 == 0;
  // A warp has 256 of each at most: they are added up together.
  constexpr unsigned kBits = 10;
  constexpr std::uint32_t kMask = (1U << kBits) - 1;
  std::uint32_t all = invalid + static_cast<std::uint32_t>(converted.masked);
  if constexpr (kOutput == Output::photons) {
    if (task.taps.count) all |= static_cast<std::uint32_t>(__popc(converted.bright)) << kBits;
    if (task.taps.mark) all |= static_cast<std::uint32_t>(__popc(converted.marks)) << (2 * kBits);
  }
  all = __reduce_add_sync(~0U, all);
  if (converted.saturated != 0) atomicAdd(&counts.saturated, converted.saturated);
  if (!first) return;
  if ((all & kMask) != 0) atomicAdd(&counts.masked, all & kMask);
  if constexpr (kOutput == Output::photons) {
    const std::uint32_t bright = all >> kBits & kMask;
    const std::uint32_t marked = all >> (2 * kBits);
    if (bright != 0) atomicAdd(&counts.bright, bright);
    if (task.taps.mark) chunk = marked;
    if (marked != 0) atomicAdd(&counts.marked, marked);
  }
}

/// Converts eight pixels of an image. Counts them into `counts`, and their warp's marked pixels into `chunk`.
template <Output kOutput>
__device__ void convert_one(const ResidentTask& task, ResidentCounts& counts, std::uint32_t& chunk, std::byte* to,
                            uint4 words, const device::Entries& entries, device::Place place,
                            device::Thresholds thresholds) {
  constexpr bool kTaps = kOutput == Output::photons;
  const auto converted =
      device::convert_words_at_once<kOutput, kTaps, kTaps>(words, entries, task.tables, place, thresholds);
  put(to, converted, entries.real);
  tally(task, counts, chunk, converted, entries.invalid);
}

/// Returns step `number` of the task, with memory of the calling block. Its limits come with the first stack.
__device__ inline ResidentStep own_step(const ResidentTask& task, std::uint32_t number) {
  ResidentStep step = task.steps[number];
  if (step.kind == ResidentStep::Kind::rule) step.operations += std::size_t{blockIdx.x} * step.room;
  return step;
}

/// Reads the limits of the stack in `slot` for the block. One warp calls it.
__device__ inline void take_limits(const ResidentTask& task, ResidentStep* steps, std::uint32_t slot) {
  const std::byte* const order = task.orders + slot * task.order_stride;
#pragma unroll 1
  for (std::uint32_t s = 0; s < task.step_count; ++s) {
    ResidentStep& step = steps[s];
    const auto* const limits = reinterpret_cast<const uint4*>(order + step.limits);
    if (step.kind == ResidentStep::Kind::count && threadIdx.x % 32 == 0) {
      const uint4 words = __ldcv(limits);
      step.tap = {static_cast<std::int32_t>(words.x), words.y, words.z};
    }
    if (step.kind != ResidentStep::Kind::rule) continue;
    static_assert(sizeof(kernel::veto::Operation) == sizeof(uint4));
    auto* const to = reinterpret_cast<uint4*>(step.operations);
#pragma unroll 1
    for (std::uint32_t at = threadIdx.x % 32; at < step.room; at += 32) to[at] = __ldcv(limits + at);
  }
  __syncwarp();
}

/// The results of an image after all pixels are converted. All blocks compute the same.
struct Decided {
  bool accepted = false;
  DeviceFinding finding{};
};
/// Decides on an image. `steps` is the number of steps of `all` to apply, in order. `peaks` has the settings of peak
/// finders.
__device__ inline Decided decide(const ResidentTask& task, const ResidentStep* all, std::uint32_t steps,
                                 const ResidentCounts& counts, const ResidentPeaks& peaks, Scalar* numbers) {
  Decided decided;
  DeviceFinding& finding = decided.finding;
  decided.accepted = true;
  numbers[task.first_column] = Scalar::of_count(counts.masked);
  numbers[task.first_column + 1] = Scalar::of_count(counts.saturated);
  for (std::uint32_t s = 0; s < steps && decided.accepted; ++s) {
    const ResidentStep& step = all[s];
    switch (step.kind) {
      case ResidentStep::Kind::count:
        finding.counted = counts.bright;
        numbers[step.column] = Scalar::of_count(counts.bright);
        finding.verdict = step.tap.verdict(counts.bright);
        break;
      case ResidentStep::Kind::rule:
        finding.verdict = kernel::veto::holds(step.operations, numbers) ? 0 : 1;
        break;
      case ResidentStep::Kind::peaks:
        numbers[step.column] = Scalar::of_count(peaks.count);
        numbers[step.column + 1] = Scalar::of_real(peaks.intensity);
        numbers[step.column + 2] = Scalar::of_count(peaks.empty);
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

/// Writes the listed pixels of run `chunk` to host memory; its warp calls it. `chunks` has the number of marked pixels
/// of each run of the image.
__device__ inline void list_run(const ResidentTask& task, RunRoom& room, const std::uint32_t* chunks, std::size_t place,
                                std::uint32_t chunk, uint4 photons, std::uint32_t real) {
  const unsigned lane = threadIdx.x % 32;
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
    room.offset[at] = static_cast<std::uint8_t>(lane * device::kThreadPixels + k);
    room.value[at] = static_cast<std::int16_t>(device::word_of(photons, k));
  }
  __syncwarp();
  std::uint32_t* const index = task.index + place * task.list_stride + before;
  std::int16_t* const value = task.value + place * task.list_stride + before;
  for (std::uint32_t e = lane; e < all; e += 32) {
    __stcs(&index[e], chunk * device::kWarpPixels + room.offset[e]);
    __stcs(&value[e], room.value[e]);
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
          const unsigned warp = threadIdx.x / 32;
          list_run(task, shared.runs[warp], chunks + i * chunks_stride, place, tile * kWarps + warp,
                   real != 0 ? pixels[0] : uint4{}, real);
        }
      }
    }
  }
}

/// Writes findings and scalars to host memory. The first warp of the first block calls it.
__device__ inline void tell(const ResidentTask& task, const DeviceFinding* found, const Scalar* scalars,
                            std::uint32_t slot) {
  const std::size_t place = std::size_t{slot} * task.stack;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(found);
  auto* const findings = reinterpret_cast<std::uint32_t*>(task.host_findings + place);
  constexpr std::uint32_t kWords = sizeof(DeviceFinding) / sizeof(std::uint32_t);
#pragma unroll 1
  for (std::uint32_t w = threadIdx.x; w < task.stack * kWords; w += 32) findings[w] = words[w];
#pragma unroll 1
  for (std::uint32_t c = threadIdx.x; c < task.stack * task.columns; c += 32) {
    task.host_scalars[place * task.columns + c] = scalars[c];
  }
}

}  // namespace rashpa::unit::cuda::resident_device
