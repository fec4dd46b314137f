#include <algorithm>

#include "rashpa/core/fill.hpp"
#include "rashpa/kernel/bragg_count/bragg_count_cuda.hpp"

namespace rashpa::kernel::bragg_count::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLoads = 4;  // of eight pixels, on their way at once
constexpr unsigned kTile = kThreads * kLoads * 8;

/// How many of two photons in one word are at or above the threshold.
__device__ __forceinline__ std::uint32_t bright_in(std::uint32_t pair, int threshold) {
  const int low = static_cast<std::int16_t>(pair & 0xFFFFU);
  const int high = static_cast<int>(pair) >> 16;
  return (low >= threshold ? 1U : 0U) + (high >= threshold ? 1U : 0U);
}

/// A block counts one tile of one image.
__global__ void __launch_bounds__(kThreads) count_tiles(const std::int16_t* photons, std::size_t stride,
                                                        std::uint32_t pixels, int threshold, std::uint32_t* bright) {
  __shared__ std::uint32_t sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const std::int16_t* image = photons + blockIdx.y * stride;
  const std::uint32_t first = blockIdx.x * kTile + threadIdx.x * 8;
  std::uint32_t found = 0;
#pragma unroll
  for (unsigned l = 0; l < kLoads; ++l) {
    const std::uint32_t at = first + l * kThreads * 8;
    if (at + 8 <= pixels) {
      const uint4 words = __ldcs(reinterpret_cast<const uint4*>(image + at));
      found += bright_in(words.x, threshold) + bright_in(words.y, threshold) + bright_in(words.z, threshold) +
               bright_in(words.w, threshold);
    } else {
      for (std::uint32_t p = at; p < pixels; ++p) found += image[p] >= threshold ? 1 : 0;
    }
  }
  found = __reduce_add_sync(~0U, found);
  if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(&sum, found);
  __syncthreads();
  if (threadIdx.x == 0 && sum != 0) atomicAdd(bright + blockIdx.y, sum);
}

}  // namespace

cudaError_t count(const std::int16_t* photons, std::size_t stride, std::uint32_t pixels, std::uint32_t count,
                  std::int16_t threshold, std::uint32_t* bright, cudaStream_t stream) noexcept {
  constexpr std::uint32_t kMostImages = 65535;                        // of a grid's second dimension
  const int at_least = std::max<int>(threshold, kMaskedPhotons + 1);  // masked pixels never count
  const std::uint32_t tiles = pixels / kTile + (pixels % kTile != 0 ? 1 : 0);
  for (std::uint32_t first = 0; first < count && tiles != 0; first += kMostImages) {
    const dim3 grid(tiles, std::min(kMostImages, count - first));
    count_tiles<<<grid, kThreads, 0, stream>>>(photons + first * stride, stride, pixels, at_least, bright + first);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace rashpa::kernel::bragg_count::cuda
