// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "rashpa/kernel/device/divisor.cuh"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/roi_stats/roi_stats_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::roi_stats::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kLoads = 4;                 // of 16 bytes, on their way at once
constexpr std::uint32_t kPartPixels = 16'384;  // at most: 32 bits hold the sum of a thread's pixels of 16 bits
constexpr std::uint32_t kVectorBytes = 16;

/// Some rows of a region; a block looks at one of one image.
struct Part {
  std::uint32_t first = 0;  // pixel of the image
  std::uint32_t width = 0;
  std::uint32_t vectors = 0;  // of all rows, each with as many as one may have
  Divisor vectors_of_row;
};

/// Describes where the parts of each region end; those of a region follow one another.
struct Ends {
  std::array<std::uint32_t, kMostRegions> part{};
};

/// A thread's results: narrow pixels need no 64 bits.
template <typename T>
struct Found {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  using Sum = std::conditional_t<sizeof(T) < 4, Wide, std::int64_t>;
  Sum sum = 0;
  Wide least = std::numeric_limits<Wide>::max();
  Wide most = std::numeric_limits<Wide>::min();
  std::uint32_t counted = 0;

  /// Masked pixels lie below the least count of signed ones, above the largest of unsigned ones: where anything counts,
  /// they are not the most or the least.
  __device__ __forceinline__ void add(T value, T limit, bool here = true) {
    const bool counts = here && (std::is_signed_v<T> ? value >= limit : value <= limit);
    const Wide kept = counts ? static_cast<Wide>(value) : Wide{0};
    sum += static_cast<Sum>(kept);
    counted += counts ? 1 : 0;
    if constexpr (std::is_signed_v<T>) {
      most = max(most, static_cast<Wide>(value));
      if (counts) least = min(least, static_cast<Wide>(value));
    } else {
      most = max(most, kept);
      least = min(least, static_cast<Wide>(value));
    }
  }
  /// The stand-in for a pixel that is not here: neither more than the most nor less than the least.
  static constexpr T kNotHere = std::is_signed_v<T> ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
};

template <typename T>
__device__ __forceinline__ T pixel_of(const uint4& words, unsigned k) {
  constexpr unsigned kInWord = 4 / sizeof(T);
  const std::uint32_t all[] = {words.x, words.y, words.z, words.w};
  return static_cast<T>(all[k / kInWord] >> (k % kInWord * 8 * sizeof(T)));
}

__device__ __forceinline__ std::int64_t across(std::int64_t sum) {
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0U, sum, distance);
  return sum;
}

/// `limit`: the least count of signed pixels, the largest of unsigned ones. The words at both ends of a row are loaded
/// whole: they lie within what belongs to the image.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    look(const T* images, std::size_t stride, std::uint32_t width, T limit, const std::uint8_t* work, const Part* parts,
         std::uint32_t part_count, Stats* found) {
  constexpr unsigned kPixels = kVectorBytes / sizeof(T);
  const std::uint32_t image = blockIdx.x / part_count;
  if (work[image] == 0) return;
  const Part part = parts[blockIdx.x % part_count];
  const T* const pixels = images + image * stride;
  Found<T> mine;
  for (std::uint32_t at = threadIdx.x; at < part.vectors; at += kLoads * kThreads) {
    uint4 words[kLoads];
    std::uint32_t begin[kLoads], first[kLoads];  // of the vector, and of the row
#pragma unroll
    for (unsigned l = 0; l < kLoads; ++l) {
      std::uint32_t vector = 0;
      const std::uint32_t row = part.vectors_of_row(at + l * kThreads, vector);
      first[l] = part.first + row * width;
      begin[l] = (first[l] / kPixels + vector) * kPixels;
      if (at + l * kThreads >= part.vectors) begin[l] = first[l] + part.width;
      if (begin[l] < first[l] + part.width) words[l] = __ldcs(reinterpret_cast<const uint4*>(pixels + begin[l]));
    }
#pragma unroll
    for (unsigned l = 0; l < kLoads; ++l) {
      const std::uint32_t end = first[l] + part.width;
      if (begin[l] >= end) continue;
      if (begin[l] >= first[l] && begin[l] + kPixels <= end) {
#pragma unroll
        for (unsigned k = 0; k < kPixels; ++k) mine.add(pixel_of<T>(words[l], k), limit);
      } else {
#pragma unroll
        for (unsigned k = 0; k < kPixels; ++k) {
          const bool here = begin[l] + k >= first[l] && begin[l] + k < end;
          mine.add(here ? pixel_of<T>(words[l], k) : Found<T>::kNotHere, limit, here);
        }
      }
    }
  }
  __shared__ Stats of_warp[kWarps];
  Stats all;
  all.sum = across(static_cast<std::int64_t>(mine.sum));
  const auto least = __reduce_min_sync(~0U, mine.least);
  const auto most = __reduce_max_sync(~0U, mine.most);
  all.counted = __reduce_add_sync(~0U, mine.counted);
  if (all.counted != 0) {
    all.least = least;
    all.most = most;
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = all;
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll
  for (unsigned warp = 1; warp < kWarps; ++warp) all.add(of_warp[warp]);
  found[blockIdx.x] = all;
}

/// A warp a region of an image.
__global__ void settle(const kernel::cuda::DeviceStack stack, const Stats* found, std::uint32_t part_count,
                       const Ends ends) {
  const std::uint32_t region = threadIdx.x / 32;
  const std::uint32_t image = blockIdx.x;
  if (stack.work[image] == 0) return;
  Stats sum;
  const std::uint32_t first = region == 0 ? 0 : ends.part[region - 1];
  for (std::uint32_t part = first + threadIdx.x % 32; part < ends.part[region]; part += 32) {
    sum.add(found[image * part_count + part]);
  }
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    Stats other;
    other.sum = __shfl_down_sync(~0U, sum.sum, distance);
    other.least = __shfl_down_sync(~0U, sum.least, distance);
    other.most = __shfl_down_sync(~0U, sum.most, distance);
    other.counted = __shfl_down_sync(~0U, sum.counted, distance);
    sum.add(other);
  }
  if (threadIdx.x % 32 == 0) write(sum, stack.scalars + image * stack.scalars_stride + region * kColumns);
}

/// Parts of `regions` in order, and where those of each end.
std::vector<Part> parts_of(const std::vector<NamedRegion>& regions, const Setup& setup, Ends& ends) {
  const std::uint32_t pixels = kVectorBytes / static_cast<std::uint32_t>(pixel_bytes(setup.in.type));
  std::vector<Part> parts;
  const auto add = [&](std::uint32_t first, std::uint32_t width, std::uint32_t rows) {
    const std::uint32_t vectors = width / pixels + 2;
    parts.push_back({first, width, rows * vectors, Divisor(vectors)});
  };
  for (std::size_t r = 0; r < regions.size(); ++r) {
    const NamedRegion& region = regions[r];
    const std::uint32_t begin = region.y * setup.shape.width + region.x;
    if (region.width == setup.shape.width) {  // its rows are one
      const std::uint32_t all = region.width * region.height;
      for (std::uint32_t at = 0; at < all; at += kPartPixels) add(begin + at, std::min(kPartPixels, all - at), 1);
    } else {
      for (std::uint32_t x = 0; x < region.width; x += kPartPixels) {
        const std::uint32_t width = std::min(kPartPixels, region.width - x);
        const std::uint32_t rows = kPartPixels / width;
        for (std::uint32_t y = 0; y < region.height; y += rows) {
          add(begin + y * setup.shape.width + x, width, std::min(rows, region.height - y));
        }
      }
    }
    ends.part[r] = static_cast<std::uint32_t>(parts.size());
  }
  return parts;
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const std::vector<NamedRegion>& regions, const Setup& setup)
      : regions_(static_cast<std::uint32_t>(regions.size())),
        setup_(setup),
        plan_(parts_of(regions, setup, ends_)),
        parts_(plan_.size() * sizeof(Part)) {
    memory::cuda::check(
        cudaMemcpy(parts_.as<void>(), plan_.data(), plan_.size() * sizeof(Part), cudaMemcpyHostToDevice),
        "parts of roi_stats");
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      found_.emplace_back(setup.stack * plan_.size() * sizeof(Stats));
    }
  }
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    const auto parts = static_cast<std::uint32_t>(plan_.size());
    auto* const found = found_[bench].as<Stats>();
    const PixelFormat format = looked_at(setup_.in);
    const cudaError_t code = with_type(format.type, [&](auto pixel) {
      using T = decltype(pixel);
      const PhotonRange range = photon_range(format);
      look<T><<<stack.count * parts, kThreads, 0, stream>>>(
          reinterpret_cast<const T*>(stack.in), stack.in_stride / sizeof(T), setup_.shape.width,
          static_cast<T>(std::is_signed_v<T> ? range.least : range.most), stack.work, parts_.as<Part>(), parts, found);
      return cudaGetLastError();
    });
    if (code != cudaSuccess) return code;
    settle<<<stack.count, regions_ * 32, 0, stream>>>(stack, found, parts, ends_);
    return cudaGetLastError();
  }

 private:
  std::uint32_t regions_;
  Setup setup_;
  Ends ends_{};
  std::vector<Part> plan_;
  memory::cuda::DeviceMemory parts_;
  std::vector<memory::cuda::DeviceMemory> found_;  // by bench, [image][part]
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const std::vector<NamedRegion>& regions, const Setup& setup) {
  return std::make_unique<Pass>(regions, setup);
}

}  // namespace rashpa::kernel::roi_stats::cuda
