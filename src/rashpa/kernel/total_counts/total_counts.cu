// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "rashpa/kernel/photons/photons.cuh"
#include "rashpa/kernel/total_counts/total_counts_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::total_counts::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLoads = 4;  // of eight pixels, on their way at once
constexpr unsigned kTile = kThreads * kLoads * 8;
using Word = unsigned long long;  // the type of atomicAdd

/// 32 bits hold what a thread adds of narrow pixels.
template <typename T>
using Sum = std::conditional_t<sizeof(T) < 4, std::int32_t, std::int64_t>;

template <typename T>
__device__ __forceinline__ void add(T value, T limit, Sum<T>& counts, std::uint32_t& masked) {
  const bool is_masked = std::is_signed_v<T> ? value < limit : value > limit;
  masked += is_masked ? 1 : 0;
  counts += is_masked ? Sum<T>{0} : static_cast<Sum<T>>(value);
}

/// A block adds up one tile of one image. `limit`: the least count of signed pixels, the largest of unsigned ones.
template <typename T>
__global__ void __launch_bounds__(kThreads) total_tiles(const T* images, std::size_t stride, std::uint32_t pixels,
                                                        T limit, const std::uint8_t* work, Totals* totals) {
  if (work[blockIdx.y] == 0) return;
  const T* image = images + blockIdx.y * stride;
  const std::uint32_t first = blockIdx.x * kTile + threadIdx.x * 8;
  Sum<T> of_thread = 0;
  std::uint32_t masked = 0;
#pragma unroll
  for (unsigned l = 0; l < kLoads; ++l) {
    const std::uint32_t at = first + l * kThreads * 8;
    if (at + 8 <= pixels) {
      const Eight<T> eight(image + at);
#pragma unroll
      for (unsigned k = 0; k < 8; ++k) add(eight[k], limit, of_thread, masked);
    } else {
      for (std::uint32_t p = at; p < pixels; ++p) add(image[p], limit, of_thread, masked);
    }
  }
  std::int64_t counts = of_thread;
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) counts += __shfl_down_sync(~0U, counts, distance);
  masked = __reduce_add_sync(~0U, masked);
  // One sum a block: those of all blocks go to the same word.
  __shared__ std::int64_t counts_of_warp[kThreads / 32];
  __shared__ std::uint32_t masked_of_warp[kThreads / 32];
  if (threadIdx.x % 32 == 0) {
    counts_of_warp[threadIdx.x / 32] = counts;
    masked_of_warp[threadIdx.x / 32] = masked;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll
  for (unsigned warp = 1; warp < kThreads / 32; ++warp) {
    counts += counts_of_warp[warp];
    masked += masked_of_warp[warp];
  }
  Totals& total = totals[blockIdx.y];
  if (counts != 0) atomicAdd(reinterpret_cast<Word*>(&total.counts), static_cast<Word>(counts));
  if (masked != 0) atomicAdd(&total.masked, masked);
}

__global__ void settle(const kernel::cuda::DeviceStack stack, const Totals* totals) {
  const Limits limits = *reinterpret_cast<const Limits*>(stack.limits);
  for (std::uint32_t i = threadIdx.x; i < stack.count; i += blockDim.x) {
    if (stack.work[i] == 0) continue;
    stack.scalars[i * stack.scalars_stride] = Scalar::of_integer(totals[i].counts);
    stack.scalars[i * stack.scalars_stride + 1] = Scalar::of_count(totals[i].masked);
    const std::uint8_t verdict = limits.verdict(totals[i]);
    if (verdict == 0) continue;
    stack.findings[i].verdict = verdict;
    stack.findings[i].step = stack.step;
    stack.work[i] = 0;
  }
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  explicit Pass(const Setup& setup) : setup_(setup) {
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) totals_.emplace_back(setup.stack * sizeof(Totals));
  }
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    constexpr std::uint32_t kMostImages = 65535;  // of a grid's second dimension
    auto* const totals = totals_[bench].as<Totals>();
    const auto pixels = static_cast<std::uint32_t>(setup_.shape.pixels());
    const std::uint32_t tiles = pixels / kTile + (pixels % kTile != 0 ? 1 : 0);
    cudaError_t code = cudaMemsetAsync(totals, 0, stack.count * sizeof(Totals), stream);
    for (std::uint32_t first = 0; first < stack.count && code == cudaSuccess; first += kMostImages) {
      const dim3 grid(tiles, std::min(kMostImages, stack.count - first));
      const PixelFormat format = looked_at(setup_.in);
      code = with_type(format.type, [&](auto pixel) {
        using T = decltype(pixel);
        const PhotonRange range = photon_range(format);
        const std::size_t stride = stack.in_stride / sizeof(T);
        total_tiles<T><<<grid, kThreads, 0, stream>>>(
            reinterpret_cast<const T*>(stack.in) + first * stride, stride, pixels,
            static_cast<T>(std::is_signed_v<T> ? range.least : range.most), stack.work + first, totals + first);
        return cudaGetLastError();
      });
    }
    if (code != cudaSuccess) return code;
    settle<<<1, 128, 0, stream>>>(stack, totals);
    return cudaGetLastError();
  }

 private:
  Setup setup_;
  std::vector<memory::cuda::DeviceMemory> totals_;  // by bench
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Setup& setup) { return std::make_unique<Pass>(setup); }

}  // namespace rashpa::kernel::total_counts::cuda
