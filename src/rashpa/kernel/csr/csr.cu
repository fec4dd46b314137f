// SPDX-License-Identifier: Apache-2.0
#include <cuda/atomic>
#include <type_traits>

#include "rashpa/kernel/csr/csr_cuda.hpp"
#include "rashpa/kernel/photons/photons.cuh"

namespace rashpa::kernel::csr::cuda {

namespace {

// One pass: a block takes the next tile of an image, in order, finds its pixels as a mask of 64 bits each, and learns
// where its entries go from the tiles before it, which publish first their own sum and then the sum up to them
// (decoupled look-back). Where an entry lies depends on the data alone.

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kRound = 4096;  // entries of a tile that are put in order in shared memory at once

/// The published state of a tile: nothing yet (0, as the scratch memory is cleared), its own sum, or the sum up to it.
constexpr std::uint64_t kOwn = std::uint64_t{1} << 32U;
constexpr std::uint64_t kUpTo = std::uint64_t{2} << 32U;

template <typename T>
struct FromMarks {
  using Pixel = T;
  static constexpr unsigned kWords = 4;  // of 64 pixels, of a thread
  static constexpr unsigned kBytes = 1;  // of shared memory for masks
};
template <typename T>
struct FromPhotons {
  using Pixel = T;
  static constexpr unsigned kWords = 1;
  static constexpr unsigned kBytes = kThreads * 8;
};
template <class Source>
constexpr std::uint32_t kTilePixels = kThreads* Source::kWords * 64;  // up to 65536, which 16 bits count

template <class Source>
__host__ __device__ constexpr std::uint32_t tiles_of(std::uint32_t pixels) {
  const std::uint32_t tiles = pixels / kTilePixels<Source> + (pixels % kTilePixels<Source> != 0 ? 1 : 0);
  return tiles != 0 ? tiles : 1;
}

/// The scratch memory: which tile of all images the next block takes, then what each tile has published.
__host__ __device__ constexpr std::size_t scratch_words(std::uint64_t tiles) { return 1 + tiles; }

using Published = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>;

/// Sum of the tiles before `tile`, by the first warp: 32 predecessors at a time, back to one that knows its sum up to
/// it.
__device__ std::uint32_t look_back(std::uint64_t* published, std::uint32_t tile) {
  std::uint32_t sum = 0;
  for (std::uint32_t end = tile; end > 0; end -= min(end, 32U)) {
    const bool exists = threadIdx.x < end;
    std::uint64_t word = kUpTo;  // before the first tile: 0
    if (exists) {
      Published of(published[end - 1 - threadIdx.x]);
      while ((word = of.load(::cuda::memory_order_relaxed)) == 0) {  // relaxed: one word is count and mark
      }
    }
    const std::uint32_t up_to = __ballot_sync(~0U, (word & kUpTo) != 0);
    const unsigned nearest = up_to == 0 ? 31U : static_cast<unsigned>(__ffs(static_cast<int>(up_to)) - 1);
    sum += __reduce_add_sync(~0U, threadIdx.x <= nearest ? static_cast<std::uint32_t>(word) : 0U);
    if (up_to != 0) break;
  }
  return sum;
}

/// The masks of a thread: bit b of word w is pixel first + 64 · w + b.
template <typename T>
__device__ __forceinline__ void find(FromMarks<T>, const Batch& batch, std::size_t image, std::uint32_t tile_first,
                                     Kept<T>, std::uint64_t (&masks)[FromMarks<T>::kWords], std::uint8_t*) {
  const std::uint32_t first = tile_first / 64 + threadIdx.x * FromMarks<T>::kWords;
  const std::uint32_t words = batch.pixels / 64 + (batch.pixels % 64 != 0 ? 1 : 0);
#pragma unroll
  for (unsigned w = 0; w < FromMarks<T>::kWords; ++w) {
    masks[w] = first + w < words ? batch.marks[image * batch.marks_stride + first + w] : 0;
  }
}

/// A warp reads 2048 pixels, eight a thread and load, and turns the bytes of eight bits into words of 64 over `bytes`.
template <typename T>
__device__ __forceinline__ void find(FromPhotons<T>, const Batch& batch, std::size_t image, std::uint32_t tile_first,
                                     Kept<T> kept, std::uint64_t (&masks)[FromPhotons<T>::kWords],
                                     std::uint8_t* bytes) {
  const T* photons = static_cast<const T*>(batch.images) + image * batch.image_stride;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t first = tile_first + warp * 2048;
  std::uint8_t* of_warp = bytes + warp * 256;
#pragma unroll
  for (unsigned load = 0; load < 8; ++load) {
    const std::uint32_t at = first + load * 256 + lane * 8;
    std::uint32_t mask = 0;
    if (at < batch.pixels && batch.pixels - at >= 8) {
      const Eight<T> eight(photons + at);
#pragma unroll
      for (unsigned b = 0; b < 8; ++b) mask |= kept(eight[b]) ? 1U << b : 0U;
    } else {
      for (unsigned b = 0; b < 8 && at < batch.pixels && at + b < batch.pixels; ++b) {
        mask |= kept(photons[at + b]) ? 1U << b : 0U;
      }
    }
    of_warp[load * 32 + lane] = static_cast<std::uint8_t>(mask);
  }
  __syncwarp();
  masks[0] = reinterpret_cast<const std::uint64_t*>(of_warp)[lane];
}

template <class Source>
__global__ void __launch_bounds__(kThreads)
    compact_tiles(const Batch batch, Kept<typename Source::Pixel> kept, std::uint64_t* scratch) {
  using T = typename Source::Pixel;
  __shared__ alignas(8) std::uint8_t bytes[Source::kBytes];
  __shared__ std::uint16_t offsets[kRound];
  __shared__ std::uint32_t warp_sums[kWarps];
  __shared__ std::uint32_t ticket;
  __shared__ std::uint32_t before;
  if (threadIdx.x == 0)
    ticket = static_cast<std::uint32_t>(atomicAdd(reinterpret_cast<unsigned long long*>(scratch), 1ULL));
  __syncthreads();
  const std::uint32_t tiles = tiles_of<Source>(batch.pixels);
  const std::uint32_t image = ticket / tiles;
  const std::uint32_t tile = ticket % tiles;
  if (batch.work != nullptr && batch.work[image] == 0) return;
  const std::uint32_t tile_first = tile * kTilePixels<Source>;

  std::uint64_t masks[Source::kWords];
  find(Source{}, batch, image, tile_first, kept, masks, bytes);
  std::uint32_t mine = 0;
#pragma unroll
  for (unsigned w = 0; w < Source::kWords; ++w) mine += __popcll(masks[w]);

  // Where this thread's entries begin in the tile, and how many the tile has.
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t up_to = mine;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const std::uint32_t left = __shfl_up_sync(~0U, up_to, distance);
    if (lane >= distance) up_to += left;
  }
  if (lane == 31) warp_sums[threadIdx.x / 32] = up_to;
  __syncthreads();
  std::uint32_t begin = up_to - mine;
  std::uint32_t total = 0;
#pragma unroll
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w < threadIdx.x / 32) begin += warp_sums[w];
    total += warp_sums[w];
  }

  if (threadIdx.x < 32) {
    std::uint64_t* published = scratch + scratch_words(0) + static_cast<std::size_t>(image) * tiles;
    Published own(published[tile]);
    // relaxed: tiles tell one another one word, which is count and mark
    if (threadIdx.x == 0) own.store((tile == 0 ? kUpTo : kOwn) | total, ::cuda::memory_order_relaxed);
    const std::uint32_t sum = look_back(published, tile);
    if (threadIdx.x == 0) {
      // relaxed: the blocks of later tiles read this word alone, which is count and mark
      if (tile != 0) own.store(kUpTo | (sum + total), ::cuda::memory_order_relaxed);
      if (tile + 1 == tiles)
        batch.entries[image * batch.entries_stride] = sum + total > batch.capacity ? kOverflow32 : sum + total;
      before = sum;
    }
  }
  __syncthreads();

  // The tile's pixels in order, a round at a time, so that neighbouring threads write neighbouring entries.
  std::uint32_t* index = batch.index + image * batch.list_stride;
  T* value = static_cast<T*>(batch.value) + image * batch.list_stride;
  const T* photons = static_cast<const T*>(batch.images) + image * batch.image_stride;
  for (std::uint32_t round = 0; round < total; round += kRound) {
    std::uint32_t at = begin;
#pragma unroll
    for (unsigned w = 0; w < Source::kWords; ++w) {
      const std::uint32_t end = at + __popcll(masks[w]);
      if (end <= round || at >= round + kRound) {
        at = end;
        continue;
      }
      for (std::uint64_t mask = masks[w]; mask != 0; mask &= mask - 1, ++at) {
        const auto bit = static_cast<unsigned>(__ffsll(static_cast<long long>(mask)) - 1);
        if (at - round < kRound) {
          offsets[at - round] = static_cast<std::uint16_t>((threadIdx.x * Source::kWords + w) * 64 + bit);
        }
      }
    }
    __syncthreads();
    const std::uint32_t entries = min(total - round, kRound);
    for (std::uint32_t e = threadIdx.x; e < entries; e += kThreads) {
      const std::uint32_t position = before + round + e;
      if (position >= batch.capacity) break;
      const std::uint32_t pixel = tile_first + offsets[e];
      index[position] = pixel;
      value[position] = photons[pixel];
    }
    __syncthreads();
  }
}

template <class Source>
cudaError_t launch(const Batch& batch, Kept<typename Source::Pixel> kept, void* scratch, cudaStream_t stream) noexcept {
  const std::uint64_t tiles = std::uint64_t{tiles_of<Source>(batch.pixels)} * batch.count;
  if (tiles == 0) return cudaSuccess;                     // no images
  if (tiles > 0x7FFFFFFFU) return cudaErrorInvalidValue;  // more blocks than a grid has
  const cudaError_t status = cudaMemsetAsync(scratch, 0, scratch_words(tiles) * sizeof(std::uint64_t), stream);
  if (status != cudaSuccess) return status;
  compact_tiles<Source>
      <<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>(batch, kept, static_cast<std::uint64_t*>(scratch));
  return cudaGetLastError();
}

}  // namespace

std::size_t scratch_bytes(std::uint32_t pixels, std::uint32_t count) noexcept {
  return scratch_words(std::uint64_t{tiles_of<FromPhotons<std::int16_t>>(pixels)} * count) * sizeof(std::uint64_t);
}

cudaError_t compact_marked(const Batch& batch, void* scratch, cudaStream_t stream) noexcept {
  return with_type(batch.format.type, [&](auto pixel) {
    using T = decltype(pixel);
    return launch<FromMarks<T>>(batch, {}, scratch, stream);
  });
}

cudaError_t compact(const Batch& batch, std::int32_t threshold, void* scratch, cudaStream_t stream) noexcept {
  const PixelFormat format = looked_at(batch.format);
  return with_type(format.type, [&](auto pixel) {
    using T = decltype(pixel);
    return launch<FromPhotons<T>>(batch, Kept<T>::of(from_threshold(format, threshold)), scratch, stream);
  });
}

}  // namespace rashpa::kernel::csr::cuda
