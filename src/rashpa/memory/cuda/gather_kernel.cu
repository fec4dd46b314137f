// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rashpa/memory/cuda/gather_kernel.hpp"

namespace rashpa::memory::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint32_t kMostBlocks = 512;

template <typename Word>
__device__ void copy_words(const std::byte* from, std::byte* to, std::uint32_t bytes) {
  const auto* const source = reinterpret_cast<const Word*>(from);
  auto* const target = reinterpret_cast<Word*>(to);
  const std::uint32_t words = bytes / sizeof(Word);
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < words; i += kThreads) target[i] = source[i];
}

/// Copies words from a place that is no multiple of a word. It reads whole words, so that it may read up to three bytes
/// beside the run, in the same page.
__device__ void copy_shifted(const std::byte* from, std::byte* to, std::uint32_t bytes) {
  const std::uintptr_t aside = reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint32_t);
  const auto* const source = reinterpret_cast<const std::uint32_t*>(from - aside);
  auto* const target = reinterpret_cast<std::uint32_t*>(to);
  const auto shift = static_cast<std::uint32_t>(8 * aside);
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < bytes / sizeof(std::uint32_t); i += kThreads) {
    target[i] = __funnelshift_r(source[i], source[i + 1], shift);
  }
}

__device__ void copy(const std::byte* from, std::byte* to, std::uint32_t bytes) {
  const std::uintptr_t all = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to) | bytes;
  if (all % sizeof(uint4) == 0) {
    copy_words<uint4>(from, to, bytes);
  } else if (all % sizeof(std::uint32_t) == 0) {
    copy_words<std::uint32_t>(from, to, bytes);
  } else if ((reinterpret_cast<std::uintptr_t>(to) | bytes) % sizeof(std::uint32_t) == 0) {
    copy_shifted(from, to, bytes);
  } else {
    copy_words<std::uint8_t>(from, to, bytes);
  }
}

/// Returns the two pixels of a byte, the first in the lower byte.
__device__ std::uint32_t widened(std::uint32_t pair, bool low_first) {
  const std::uint32_t low = pair & 0xFU;
  const std::uint32_t high = pair >> 4U;
  return low_first ? low | high << 8U : high | low << 8U;
}

__device__ void widen(const std::byte* from, std::byte* to, std::uint32_t bytes, bool low_first) {
  const std::uintptr_t all = reinterpret_cast<std::uintptr_t>(from) | bytes;
  if (all % sizeof(std::uint32_t) == 0 && reinterpret_cast<std::uintptr_t>(to) % sizeof(uint2) == 0) {
    const auto* const source = reinterpret_cast<const std::uint32_t*>(from);
    auto* const target = reinterpret_cast<uint2*>(to);
    for (std::uint32_t i = threadIdx.x; i < bytes / sizeof(std::uint32_t); i += kThreads) {
      const std::uint32_t word = source[i];
      target[i] = {widened(word & 0xFFU, low_first) | widened(word >> 8U & 0xFFU, low_first) << 16U,
                   widened(word >> 16U & 0xFFU, low_first) | widened(word >> 24U, low_first) << 16U};
    }
    return;
  }
  for (std::uint32_t i = threadIdx.x; i < bytes; i += kThreads) {
    const std::uint32_t pixels = widened(static_cast<std::uint32_t>(from[i]), low_first);
    to[2 * i] = static_cast<std::byte>(pixels);
    to[2 * i + 1] = static_cast<std::byte>(pixels >> 8U);
  }
}

__global__ void __launch_bounds__(kThreads) gather_kernel(const __grid_constant__ GatherList list) {
  for (std::uint32_t i = blockIdx.x; i < list.count; i += gridDim.x) {
    const GatherRun run = list.runs[i];
    std::byte* const to = list.images + run.destination;
    if (run.decode == Decode::copy) {
      copy(run.source, to, run.bytes);
    } else {
      widen(run.source, to, run.bytes, run.decode == Decode::low_nibble_first);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();  // this block's bytes before its count
  if (atomicAdd(list.blocks, 1U) != gridDim.x - 1) return;
  *list.blocks = 0;
  __threadfence_system();  // all blocks' bytes before the word
  *static_cast<volatile std::uint64_t*>(list.ended) = list.number;
}

}  // namespace

cudaError_t gather(const GatherList& list, cudaStream_t stream) noexcept {
  gather_kernel<<<std::min(list.count, kMostBlocks), kThreads, 0, stream>>>(list);
  return cudaGetLastError();
}

}  // namespace rashpa::memory::cuda
