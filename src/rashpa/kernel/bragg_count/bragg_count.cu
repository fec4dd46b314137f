// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rashpa/kernel/bragg_count/bragg_count_cuda.hpp"
#include "rashpa/kernel/photons/photons.cuh"

namespace rashpa::kernel::bragg_count::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLoads = 4;  // of eight pixels, on their way at once
constexpr unsigned kTile = kThreads * kLoads * 8;

/// A block counts one tile of one image.
template <typename T>
__global__ void __launch_bounds__(kThreads) count_tiles(const T* images, std::size_t stride, std::uint32_t pixels,
                                                        Kept<T> kept, const std::uint8_t* work, std::uint32_t* bright) {
  if (work != nullptr && work[blockIdx.y] == 0) return;
  __shared__ std::uint32_t sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const T* image = images + blockIdx.y * stride;
  const std::uint32_t first = blockIdx.x * kTile + threadIdx.x * 8;
  std::uint32_t found = 0;
#pragma unroll
  for (unsigned l = 0; l < kLoads; ++l) {
    const std::uint32_t at = first + l * kThreads * 8;
    if (at + 8 <= pixels) {
      const Eight<T> eight(image + at);
#pragma unroll
      for (unsigned k = 0; k < 8; ++k) found += kept(eight[k]) ? 1 : 0;
    } else {
      for (std::uint32_t p = at; p < pixels; ++p) found += kept(image[p]) ? 1 : 0;
    }
  }
  found = __reduce_add_sync(~0U, found);
  if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(&sum, found);
  __syncthreads();
  if (threadIdx.x == 0 && sum != 0) atomicAdd(bright + blockIdx.y, sum);
}

}  // namespace

cudaError_t count(const Batch& batch, std::int32_t threshold, std::uint32_t* bright, cudaStream_t stream) noexcept {
  constexpr std::uint32_t kMostImages = 65535;  // of a grid's second dimension
  const std::uint32_t tiles = batch.pixels / kTile + (batch.pixels % kTile != 0 ? 1 : 0);
  const PixelFormat format = looked_at(batch.format);
  return with_type(format.type, [&](auto pixel) {
    using T = decltype(pixel);
    const auto kept = Kept<T>::of(from_threshold(format, threshold));
    for (std::uint32_t first = 0; first < batch.count && tiles != 0; first += kMostImages) {
      const dim3 grid(tiles, std::min(kMostImages, batch.count - first));
      count_tiles<T><<<grid, kThreads, 0, stream>>>(
          static_cast<const T*>(batch.images) + first * batch.stride, batch.stride, batch.pixels, kept,
          batch.work != nullptr ? batch.work + first : nullptr, bright + first);
      const cudaError_t status = cudaGetLastError();
      if (status != cudaSuccess) return status;
    }
    return cudaSuccess;
  });
}

}  // namespace rashpa::kernel::bragg_count::cuda
