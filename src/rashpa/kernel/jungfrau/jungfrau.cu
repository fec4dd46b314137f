// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "rashpa/kernel/jungfrau/jungfrau_device.cuh"

namespace rashpa::kernel::jungfrau::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kBlocksPerProcessor = 4;
constexpr unsigned kAhead = 2;      // images whose raw words are on their way
constexpr unsigned kLongStack = 8;  // one block a tile; below, blocks that take several, since each adds its counts
constexpr unsigned kImagesAtOnce = 128;  // counted in shared memory; calibration is read once for this number of images

/// Pixels of a warp that are not in G0, put aside until there is one for every thread: the tables of other gains are
/// far away, and so a warp waits once for 32 of them instead of in nearly every image.
struct Aside {
  static constexpr unsigned kEnough = 32;
  std::uint32_t count;
  std::uint32_t pixels[kEnough + kAhead * kWarpPixels];
};
static_assert(kWarpPixels <= 1U << 8U && kImagesAtOnce <= 1U << 7U, "an entry of Aside has 32 bits");

/// A block's counts in each image of the stack, and the images that it converts.
struct Shared {
  std::uint32_t images;
  std::uint32_t invalid;  // pixels of the block without calibration in G0: masked in every image, unless corrected
  std::uint32_t image[kImagesAtOnce];
  Counts counts[kImagesAtOnce];
  Aside aside[kWarps];
};

/// Lists the images that have work, in order. One warp does it, and the block waits for the warp.
__device__ void list_work(Shared& shared, const Batch& batch, std::uint32_t first, std::uint32_t last) {
  if (threadIdx.x < 32) {
    std::uint32_t listed = 0;
    for (std::uint32_t base = first; base < last; base += 32) {
      const std::uint32_t image = base + threadIdx.x;
      const bool work = image < last && (batch.work == nullptr || batch.work[image] != 0);
      const std::uint32_t ballot = __ballot_sync(~0U, work);
      if (work) shared.image[listed + __popc(ballot & ((1U << threadIdx.x) - 1))] = image;
      listed += __popc(ballot);
    }
    if (threadIdx.x == 0) {
      shared.images = listed;
      shared.invalid = 0;
    }
  }
  for (std::uint32_t i = threadIdx.x; i < last - first; i += kThreads) shared.counts[i] = Counts{};
  if (threadIdx.x < kWarps) shared.aside[threadIdx.x].count = 0;
  __syncthreads();
}

/// Puts the pixels of mask `todo` aside: word, pixel of the warp's 256, whether it counts as masked already, image.
template <Output kOutput>
__device__ __forceinline__ void put_aside(Aside& aside, uint4 words, std::uint32_t todo, const Entries& entries,
                                          Place place, std::uint32_t i) {
  std::uint32_t slot = atomicAdd(&aside.count, __popc(todo));
#pragma unroll 1
  for (; todo != 0; todo &= todo - 1) {
    const auto k = static_cast<unsigned>(__ffs(static_cast<int>(todo)) - 1);
    aside.pixels[slot++] =
        word_of(words, k) | pixel_of(place, k) % kWarpPixels << 16U | (entries.masked >> k & 1U) << 24U | i << 25U;
  }
}

/// Corrects what the warp put aside, behind its stores of the same images.
template <Output kOutput, bool kCount, bool kMark>
__device__ __forceinline__ void correct(Aside& aside, Shared& shared, const Tables& tables, const Batch& batch,
                                        Thresholds thresholds, std::uint32_t first) {
  for (unsigned e = threadIdx.x % 32; e < aside.count; e += 32) {
    const std::uint32_t entry = aside.pixels[e];
    const std::uint32_t pixel = first + (entry >> 16U & 0xFFU);
    Counts& counts = shared.counts[entry >> 25U];
    const std::size_t image = shared.image[entry >> 25U];
    const auto corrected = convert_word<kOutput>(entry & 0xFFFFU, tables, pixel);
    using Value = decltype(corrected.value);
    (static_cast<std::remove_const_t<Value>*>(batch.out) + image * batch.out_stride)[pixel] = corrected.value;
    const std::uint32_t more = static_cast<std::uint32_t>(corrected.masked) - (entry >> 24U & 1U);
    if (more != 0) atomicAdd(&counts.masked, more);
    if (corrected.saturated) atomicAdd(&counts.saturated, 1U);
    if constexpr (kCount) {
      if (comparable(corrected.value) >= thresholds.bright) atomicAdd(&counts.bright, 1U);
    }
    if constexpr (kMark) {
      if (comparable(corrected.value) >= thresholds.mark) {
        auto* marks = reinterpret_cast<std::uint32_t*>(batch.marks + image * batch.marks_stride);
        atomicOr(marks + pixel / 32, 1U << (pixel % 32));
      }
    }
  }
  __syncwarp();
  if (threadIdx.x % 32 == 0) aside.count = 0;
  __syncwarp();
}

/// The block's threads through the images listed: raw words are asked for kAhead images before they are converted.
template <Output kOutput, bool kCount, bool kMark>
__device__ void convert_tile(Shared& shared, const Tables& tables, const Batch& batch, Thresholds thresholds,
                             std::uint32_t thread) {
  const Place place = place_of<kOutput>(thread);
  const std::uint32_t real = real_of(place, tables.pixels);
  const std::uint32_t images = shared.images;
  const std::uint32_t padded = (tables.pixels + kGroup - 1) / kGroup * kGroup;
  Aside& aside = shared.aside[threadIdx.x / 32];
  constexpr std::size_t kOutBytes = kOutput == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  const auto load = [&](std::uint32_t i) {
    return load_words<kOutput>(batch.raw + shared.image[i] * batch.raw_stride, place, real);
  };
  const Entries entries = load_entries<kOutput>(tables, place);
  const std::uint32_t invalid = __reduce_add_sync(~0U, entries.invalid);
  if (threadIdx.x % 32 == 0 && invalid != 0) atomicAdd(&shared.invalid, invalid);
  uint4 words[kAhead];
#pragma unroll
  for (unsigned a = 0; a < kAhead; ++a) {
    if (a < images) words[a] = load(a);
  }
  for (std::uint32_t begin = 0; begin < images; begin += kAhead) {
#pragma unroll
    for (unsigned a = 0; a < kAhead; ++a) {
      const std::uint32_t i = begin + a;
      if (i >= images) break;
      const uint4 now = words[a];
      if (i + kAhead < images) words[a] = load(i + kAhead);
      const std::size_t image = shared.image[i];
      auto converted = convert_g0<kOutput, kCount, kMark>(now, entries, thresholds);
      const std::uint32_t todo = not_in_g0(now, entries);
      if (todo != 0) put_aside<kOutput>(aside, now, todo, entries, place, i);
      store(converted, static_cast<std::byte*>(batch.out) + image * batch.out_stride * kOutBytes, place, real);
      if constexpr (kMark) {
        // One byte of a mark word; the words' last bytes may lie behind the last pixel.
        if (place.first < padded) {
          reinterpret_cast<std::uint8_t*>(batch.marks + image * batch.marks_stride)[thread] =
              static_cast<std::uint8_t>(converted.marks & ~todo);
        }
      }
      if constexpr (kCount) {
        const std::uint32_t bright = __reduce_add_sync(~0U, __popc(converted.bright & ~todo));
        if (threadIdx.x % 32 == 0 && bright != 0) atomicAdd(&shared.counts[i].bright, bright);
      }
    }
    __syncwarp();
    if (__any_sync(~0U, aside.count >= Aside::kEnough) || begin + kAhead >= images) {
      correct<kOutput, kCount, kMark>(aside, shared, tables, batch, thresholds,
                                      place.first / kWarpPixels * kWarpPixels);
    }
  }
}

template <Output kOutput, bool kCount, bool kMark>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    convert_stack(const Tables tables, const Batch batch, const Thresholds thresholds) {
  __shared__ Shared shared;
  const std::uint32_t padded = (tables.pixels + kGroup - 1) / kGroup * kGroup;
  const std::uint32_t tiles = (padded + kThreads * kThreadPixels - 1) / (kThreads * kThreadPixels);
  for (std::uint32_t first = 0; first < batch.count; first += kImagesAtOnce) {
    const std::uint32_t last = min(first + kImagesAtOnce, batch.count);
    list_work(shared, batch, first, last);
    for (std::uint32_t tile = blockIdx.x; tile < tiles && shared.images != 0; tile += gridDim.x) {
      const std::uint32_t thread = tile * kThreads + threadIdx.x;
      convert_tile<kOutput, kCount, kMark>(shared, tables, batch, thresholds, thread);
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < shared.images; i += kThreads) {
      Counts& total = batch.counts[shared.image[i]];
      const Counts& here = shared.counts[i];
      const std::uint32_t masked = here.masked + shared.invalid;  // here.masked may stand for a negative number
      if (masked != 0) atomicAdd(&total.masked, masked);
      if (here.saturated != 0) atomicAdd(&total.saturated, here.saturated);
      if (here.bright != 0) atomicAdd(&total.bright, here.bright);
    }
    __syncthreads();
  }
}

using Kernel = void (*)(Tables, Batch, Thresholds);

Kernel kernel_for(Output output, const Taps& taps) noexcept {
  if (output == Output::kev) return convert_stack<Output::kev, false, false>;
  if (taps.count) {
    return taps.mark ? convert_stack<Output::photons, true, true> : convert_stack<Output::photons, true, false>;
  }
  return taps.mark ? convert_stack<Output::photons, false, true> : convert_stack<Output::photons, false, false>;
}

}  // namespace

cudaError_t convert(const Tables& tables, Output output, const Batch& batch, const Taps& taps,
                    cudaStream_t stream) noexcept {
  if (batch.count == 0) return cudaSuccess;
  const std::uint32_t tiles = (tables.pixels + kThreads * kThreadPixels - 1) / (kThreads * kThreadPixels);
  const std::uint32_t blocks =
      batch.count < kLongStack ? std::min(tiles, tables.processors * kBlocksPerProcessor) : tiles;
  kernel_for(output, taps)<<<blocks, kThreads, 0, stream>>>(tables, batch, thresholds_of(taps));
  return cudaGetLastError();
}

}  // namespace rashpa::kernel::jungfrau::cuda
