// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <type_traits>

#include "rashpa/kernel/azimuthal/device/azimuthal_cuda.hpp"
#include "rashpa/kernel/azimuthal/device/sum_of_team.cuh"
#include "rashpa/kernel/photons/photons.cuh"

namespace rashpa::kernel::azimuthal::cuda {

namespace {

using kernel::cuda::DeviceStack;

constexpr unsigned kGatherThreads = 256;

/// A thread's sums of a bin.
struct Mine {
  std::int64_t signal = 0, variance = 0;
  double real_signal = 0, real_variance = 0;
  MaskedSum masked{};
  double spread_signal = 0, spread_norm = 0, spread_variance = 0;
};

/// A share of a pixel joins its bin, by the recursion for weighted means.
__device__ void join(Mine& bin, double value, double share, double norm) {
  const double ratio = value / norm, weight = share * norm;
  if (bin.spread_norm == 0) {
    bin.spread_signal = share * value;
    bin.spread_norm = weight;
    bin.spread_variance = 0;
    return;
  }
  const double before = bin.spread_signal / bin.spread_norm - ratio;
  bin.spread_signal += share * value;
  bin.spread_norm += weight;
  const double after = bin.spread_signal / bin.spread_norm - ratio;
  bin.spread_variance += weight * weight * before * after;
}

template <typename T>
__device__ bool counts(T value, const PhotonRange& range) {
  if constexpr (std::is_floating_point_v<T>) {
    return isfinite(value);
  } else {
    return std::int64_t{value} >= range.least && std::int64_t{value} <= range.most;
  }
}

/// A team of threads has a bin of an image; the order in which it adds depends on the table alone.
template <typename T, bool Real>
__global__ void __launch_bounds__(kGatherThreads)
    gather_bins(const DeviceStack stack, const Tables tables, const PhotonRange range, const Found found,
                std::uint32_t first_image) {
  const std::uint32_t image = first_image + blockIdx.y;
  if (stack.work[image] == 0) return;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kGatherThreads + threadIdx.x;
  const auto bin = static_cast<std::uint32_t>(thread / tables.team);
  const bool there = bin < tables.bins;  // the same for all of a warp when that is a team
  const T* const from = reinterpret_cast<const T*>(stack.in + image * stack.in_stride);
  const bool poisson = tables.errors == Errors::poisson;
  const auto member = static_cast<std::uint32_t>(thread % tables.team);
  Mine mine;
  for (std::uint32_t at = there ? tables.firsts[bin] + member : 0; there && at < tables.firsts[bin + 1];
       at += tables.team) {
    const std::uint32_t pixel = tables.by_bin[at];
    const T value = from[pixel];
    const double share = tables.shares != nullptr ? tables.shares[at] : 1.0;
    const double dark = tables.dark != nullptr ? tables.dark[pixel] : 0.0;
    if (!counts(value, range)) {
      mine.masked.norm += share * tables.norm[pixel];
      mine.masked.dark += share * dark;
      mine.masked.dark_variance += share * share * dark;
      mine.masked.shares += 1;
      continue;
    }
    const auto number = static_cast<double>(value);
    if constexpr (Real) {
      mine.real_signal += share * number;
      if (poisson) mine.real_variance += share * share * (number > 1 ? number : 1.0);
    } else {
      mine.signal += static_cast<std::int64_t>(value);
      if (poisson && value > 1) mine.variance += static_cast<std::int64_t>(value) - 1;
    }
    if (tables.errors == Errors::azimuthal) join(mine, number - dark, share, tables.norm[pixel]);
  }
  if constexpr (Real) {
    mine.signal = __double_as_longlong(sum_of_team(mine.real_signal, tables.team));
    mine.variance = __double_as_longlong(sum_of_team(mine.real_variance, tables.team));
  } else {
    mine.signal = sum_of_team(mine.signal, tables.team);
    mine.variance = sum_of_team(mine.variance, tables.team);
  }
  if (tables.errors == Errors::azimuthal) mine.variance = __double_as_longlong(mine.spread_variance);
  const std::uint64_t masked = sum_of_team(mine.masked.shares, tables.team);
  mine.masked.norm = sum_of_team(mine.masked.norm, tables.team);
  mine.masked.dark = sum_of_team(mine.masked.dark, tables.team);
  mine.masked.dark_variance = sum_of_team(mine.masked.dark_variance, tables.team);
  if (!there || member != 0) return;
  const std::size_t to = std::size_t{image} * tables.bins + bin;
  found.signal[to] = mine.signal;
  found.variance[to] = mine.variance;
  if (masked == 0) return;
  mine.masked.shares = masked;
  found.masked[to] = mine.masked;
  found.any_masked[image] = 1;
}

template <typename T, bool Real>
cudaError_t gather_all(const Tables& tables, PhotonRange range, const DeviceStack& stack, const Found& found,
                       cudaStream_t stream) noexcept {
  constexpr std::uint32_t kMostImages = 65535;  // of a grid's second dimension
  const std::uint64_t threads = std::uint64_t{tables.bins} * tables.team;
  const auto blocks = static_cast<unsigned>((threads + kGatherThreads - 1) / kGatherThreads);
  cudaError_t code = cudaSuccess;
  for (std::uint32_t first = 0; first < stack.count && code == cudaSuccess; first += kMostImages) {
    const dim3 grid(blocks, std::min(kMostImages, stack.count - first));
    gather_bins<T, Real><<<grid, kGatherThreads, 0, stream>>>(stack, tables, range, found, first);
    code = cudaGetLastError();
  }
  return code;
}

}  // namespace

int gather(const Tables& tables, PixelFormat format, const DeviceStack& stack, const Found& found,
           CUstream_st* stream) noexcept {
  if (format.type == PixelType::f32) return gather_all<float, true>(tables, {}, stack, found, stream);
  return with_type(format.type, [&](auto pixel) {
    using T = decltype(pixel);
    const PhotonRange range = photon_range(format);
    return tables.real ? gather_all<T, true>(tables, range, stack, found, stream)
                       : gather_all<T, false>(tables, range, stack, found, stream);
  });
}

}  // namespace rashpa::kernel::azimuthal::cuda
