// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "rashpa/kernel/azimuthal/azimuthal_cuda.hpp"
#include "rashpa/kernel/photons.cuh"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::azimuthal::cuda {

namespace {

using kernel::cuda::DeviceStack;
using Word = unsigned long long;  // what atomicAdd takes

__device__ void take_away(const Tables& tables, const Found& found, std::uint32_t image, std::uint32_t bin,
                          std::uint32_t pixel) {
  MaskedSum& sum = found.masked[std::size_t{image} * tables.bins + bin];
  atomicAdd(&sum.norm, static_cast<double>(tables.norm[pixel]));
  if (tables.dark != nullptr) {
    const double dark = tables.dark[pixel];
    atomicAdd(&sum.dark, dark);
    atomicAdd(&sum.dark_variance, dark);
  }
  atomicAdd(reinterpret_cast<Word*>(&sum.shares), Word{1});
  found.any_masked[image] = 1;
}

// ---- scatter

// Sums of a block lie in its shared memory in 32 bits: a count gives its low bits to one word and, when it has more,
// the others to a second one. What is beyond those goes to the sums of the image at once. A block takes so many pixels
// that no word overflows.
constexpr unsigned kThreads = 512;
constexpr unsigned kLowBits = 12;
constexpr unsigned kBits = 24;
constexpr std::uint32_t kMostPixels = 1U << (31 - kLowBits);
constexpr unsigned kMostTogether = 4;
constexpr std::size_t kBlockBytes = std::size_t{96} << 10U;  // of shared memory, two blocks a multiprocessor

template <typename T>
struct Limits {
  std::int64_t least, most;
  std::uint32_t plain;  // counts from 1 to here go into one word
  explicit Limits(PhotonRange range) noexcept
      : least(range.least),
        most(range.most),
        plain(static_cast<std::uint32_t>(std::clamp<std::int64_t>(range.most, 0, (1 << kLowBits) - 1))) {}
};

/// The words of a bin in shared memory: those of each image, and one that keeps bins on different banks.
enum : unsigned { kLow, kHigh, kVariance, kWords };
__host__ __device__ constexpr std::uint32_t words_of(std::uint32_t together) { return together * kWords | 1U; }

/// Adds a count of at most `plain`, and what is above 1 to the variance when it is above `more`; nothing for others. By
/// all lanes: branches around atomic additions take longer than these.
__device__ __forceinline__ void add_plain(std::int32_t* words, std::uint32_t count, std::uint32_t plain,
                                          std::uint32_t more) {
  const std::uint32_t kept = count <= plain ? count : 0;
  atomicAdd(&words[kLow], static_cast<std::int32_t>(kept));
  atomicAdd(&words[kVariance], static_cast<std::int32_t>(kept > more ? kept - 1 : 0));
}

/// What is not plain: negative, large, or masked.
__device__ void add(const Tables& tables, const Found& found, std::int32_t* words, std::uint32_t image,
                    std::uint32_t bin, std::uint32_t pixel, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (bin >= tables.bins || value == 0) return;
  if (value < least || value > most) return take_away(tables, found, image, bin, pixel);
  const bool poisson = tables.errors == Errors::poisson;
  if (value > 0 && value < 1 << kBits) {
    const auto low = static_cast<std::int32_t>(value & ((1 << kLowBits) - 1));
    atomicAdd(&words[kLow], low);
    if (value >> kLowBits != 0) atomicAdd(&words[kHigh], static_cast<std::int32_t>(value >> kLowBits));
    if (poisson) atomicAdd(&words[kVariance], low - 1);
  } else {
    const std::size_t at = std::size_t{image} * tables.bins + bin;
    atomicAdd(reinterpret_cast<Word*>(&found.signal[at]), static_cast<Word>(value));
    if (poisson && value > 1) atomicAdd(reinterpret_cast<Word*>(&found.variance[at]), static_cast<Word>(value - 1));
  }
}

/// Eight pixels of several images, on their way at once.
template <typename T>
struct Pixels {
  std::uint32_t words[2 * sizeof(T)];
  __device__ __forceinline__ void load(const T* from) {
    if constexpr (sizeof(T) == 1) {
      const uint2 two = __ldcs(reinterpret_cast<const uint2*>(from));
      words[0] = two.x;
      words[1] = two.y;
    } else {
#pragma unroll
      for (unsigned w = 0; w < sizeof(T) / 2; ++w) {
        const uint4 four = __ldcs(reinterpret_cast<const uint4*>(from) + w);
        words[4 * w] = four.x;
        words[4 * w + 1] = four.y;
        words[4 * w + 2] = four.z;
        words[4 * w + 3] = four.w;
      }
    }
  }
  /// As an unsigned number: what is negative is large.
  __device__ __forceinline__ std::uint32_t operator[](unsigned k) const {
    constexpr unsigned kInWord = 4 / sizeof(T);
    return static_cast<std::make_unsigned_t<T>>(words[k / kInWord] >> (k % kInWord * 8 * sizeof(T)));
  }
};

/// By the first warp: how many images are to be processed; those with ranks from `first` to `last` go to `chosen`.
__device__ std::uint32_t choose(const DeviceStack& stack, std::uint32_t first, std::uint32_t last,
                                std::uint32_t* chosen) {
  std::uint32_t before = 0;
  for (std::uint32_t base = 0; base < stack.count; base += 32) {
    const std::uint32_t image = base + threadIdx.x;
    const bool works = image < stack.count && stack.work[image] != 0;
    const std::uint32_t mask = __ballot_sync(~0U, works);
    const std::uint32_t rank = before + static_cast<std::uint32_t>(__popc(mask & ((1U << threadIdx.x) - 1)));
    if (works && rank >= first && rank < last) chosen[rank - first] = image;
    before += static_cast<std::uint32_t>(__popc(mask));
  }
  return before;
}

/// The blocks share the images that are to be processed, `Together` at a time, by runs of pixels.
template <typename T, unsigned Together>
__global__ void __launch_bounds__(kThreads, 2)
    scatter_pixels(const DeviceStack stack, const Tables tables, const Limits<T> limits, const Found found) {
  extern __shared__ std::int32_t words[];  // [bin][image][word]; the last bin is that of pixels in none
  __shared__ std::uint32_t chosen[Together];
  __shared__ std::uint32_t works;
  constexpr std::uint32_t kOfBin = words_of(Together);
  const std::uint32_t bins = tables.bins;
  const std::size_t stride = stack.in_stride / sizeof(T);
  const std::uint32_t more = tables.errors == Errors::poisson ? 1 : ~0U;  // counts above have a variance to add
  if (threadIdx.x < 32) {
    const std::uint32_t all = choose(stack, 0, 0, chosen);
    if (threadIdx.x == 0) works = all;
  }
  for (std::uint32_t i = threadIdx.x; i < kOfBin * (bins + 1); i += kThreads) words[i] = 0;
  __syncthreads();
  if (works == 0) return;
  const std::uint32_t groups = (works + Together - 1) / Together;
  const std::uint32_t runs = max((tables.pixels - 1) / kMostPixels + 1, gridDim.x / groups);
  const std::uint32_t run = ((tables.pixels - 1) / runs / 64 + 1) * 64;
  for (std::uint32_t item = blockIdx.x; item < groups * runs; item += gridDim.x) {
    // Blocks beside each other read the same bins.
    const std::uint32_t group = item % groups;
    const std::uint64_t begin = std::uint64_t{item / groups} * run;
    const std::uint64_t end = min(begin + run, std::uint64_t{tables.pixels});
    const auto rank = static_cast<std::uint32_t>(std::uint64_t{works} * group / groups);
    const auto here = static_cast<std::uint32_t>(std::uint64_t{works} * (group + 1) / groups) - rank;
    if (threadIdx.x < 32) choose(stack, rank, rank + here, chosen);
    __syncthreads();
    const T* images[Together];
#pragma unroll
    for (unsigned i = 0; i < Together; ++i) {
      images[i] = reinterpret_cast<const T*>(stack.in) + chosen[i < here ? i : 0] * stride;
    }
    for (std::uint64_t at = begin + threadIdx.x * 8; at < end; at += kThreads * 8) {
      const auto first = static_cast<std::uint32_t>(at);
      const uint4 packed = __ldg(reinterpret_cast<const uint4*>(tables.bin_of + first));
      const std::uint32_t bin_words[4] = {packed.x, packed.y, packed.z, packed.w};
      const bool whole = first + 8 <= tables.pixels;
      Pixels<T> pixels[Together];
#pragma unroll
      for (unsigned i = 0; i < Together; ++i) {
        if (i < here && whole) pixels[i].load(images[i] + first);
      }
      const std::uint32_t none = bins << 16U | bins;
      if (packed.x == none && packed.y == none && packed.z == none && packed.w == none) continue;
      std::uint32_t slots[8];
#pragma unroll
      for (unsigned k = 0; k < 8; ++k) slots[k] = (bin_words[k / 2] >> (k % 2 * 16) & 0xFFFFU) * kOfBin;
#pragma unroll
      for (unsigned i = 0; i < Together; ++i) {
        if (i >= here) break;
        bool all_plain = whole;
        if (whole) {
#pragma unroll
          for (unsigned k = 0; k < 8; ++k) {
            const std::uint32_t count = pixels[i][k];
            add_plain(words + slots[k] + i * kWords, count, limits.plain, more);
            all_plain = all_plain && count <= limits.plain;
          }
        }
        if (all_plain) continue;
#pragma unroll 1
        for (std::uint32_t pixel = first; pixel < min(first + 8, tables.pixels); ++pixel) {
          const T value = images[i][pixel];
          if (whole && static_cast<std::make_unsigned_t<T>>(value) <= limits.plain) continue;
          const std::uint32_t bin = tables.bin_of[pixel];
          add(tables, found, words + bin * kOfBin + i * kWords, chosen[i], bin, pixel, value, limits.least,
              limits.most);
        }
      }
    }
    __syncthreads();
    for (std::uint32_t bin = threadIdx.x; bin < bins; bin += kThreads) {
      for (std::uint32_t i = 0; i < here; ++i) {
        std::int32_t* const own = words + bin * kOfBin + i * kWords;
        const std::size_t to = std::size_t{chosen[i]} * bins + bin;
        const std::int64_t high = std::int64_t{own[kHigh]} << kLowBits;
        const std::int64_t signal = high + own[kLow];
        const std::int64_t variance = high + own[kVariance];
        if (signal != 0) atomicAdd(reinterpret_cast<Word*>(&found.signal[to]), static_cast<Word>(signal));
        if (variance != 0 && tables.errors == Errors::poisson) {
          atomicAdd(reinterpret_cast<Word*>(&found.variance[to]), static_cast<Word>(variance));
        }
        own[kLow] = own[kHigh] = own[kVariance] = 0;
      }
    }
    __syncthreads();
  }
}

template <typename Work>
auto with_together(std::uint32_t together, Work work) {
  if (together == 4) return work(std::integral_constant<unsigned, 4>{});
  if (together == 2) return work(std::integral_constant<unsigned, 2>{});
  return work(std::integral_constant<unsigned, 1>{});
}

constexpr std::size_t shared_bytes(std::uint32_t bins, std::uint32_t together) noexcept {
  return (std::size_t{bins} + 1) * words_of(together) * sizeof(std::int32_t);
}

// ---- gather

constexpr unsigned kGatherThreads = 256;

/// What a thread has found of a bin.
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

template <typename T>
__device__ T sum_of_team(T value, std::uint32_t team) {
  for (unsigned distance = team / 2; distance > 0; distance /= 2) value += __shfl_down_sync(~0U, value, distance);
  return value;
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

// ---- settle

constexpr unsigned kSettleThreads = 512;

/// A block makes the profile of an image, as finish() does, and judges its ring.
__global__ void __launch_bounds__(kSettleThreads)
    settle_images(const DeviceStack stack, const Tables tables, const Ring ring, const Found found, double* profiles) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  __shared__ double ring_signals[kSettleThreads / 32];
  __shared__ double ring_norms[kSettleThreads / 32];
  const std::uint32_t image = blockIdx.x;
  if (stack.work[image] == 0) return;
  const std::uint32_t bins = tables.bins;
  const bool any_masked = found.any_masked[image] != 0;
  double* const profile = profiles + image * kArrays * bins;
  double ring_signal = 0, ring_norm = 0;
  for (std::uint32_t bin = threadIdx.x; bin < bins; bin += kSettleThreads) {
    const std::size_t at = std::size_t{image} * bins + bin;
    const std::int64_t found_signal = found.signal[at], found_variance = found.variance[at];
    found.signal[at] = found.variance[at] = 0;
    Prepared::Bin left = tables.all[bin];
    if (any_masked) {
      const MaskedSum off = found.masked[at];
      found.masked[at] = MaskedSum{};
      left.norm -= off.norm;
      left.dark -= off.dark;
      left.dark_variance -= off.dark_variance;
      left.shares -= static_cast<std::uint32_t>(off.shares);
    }
    const bool there = left.shares != 0;
    const double sum = tables.real ? __longlong_as_double(found_signal) : static_cast<double>(found_signal);
    const double signal = there ? sum - left.dark : 0;
    const double norm = there ? left.norm : 0;
    double error = kNone;
    if (there && tables.errors == Errors::poisson) {
      const double variance = tables.real ? __longlong_as_double(found_variance)
                                          : static_cast<double>(found_variance + std::int64_t{left.shares});
      error = sqrt(variance + left.dark_variance) / norm;
    } else if (there && tables.errors == Errors::azimuthal) {
      error = sqrt(fmax(0.0, __longlong_as_double(found_variance))) / norm;
    }
    profile[bin] = there ? signal / norm : kNone;
    profile[bins + bin] = error;
    profile[2 * std::size_t{bins} + bin] = signal;
    profile[3 * std::size_t{bins} + bin] = norm;
    if (const std::size_t radial = bin % ring.radial; radial >= ring.first && radial < ring.last) {
      ring_signal += signal;
      ring_norm += norm;
    }
  }
  ring_signal = sum_of_team(ring_signal, 32);
  ring_norm = sum_of_team(ring_norm, 32);
  if (threadIdx.x % 32 == 0) {
    ring_signals[threadIdx.x / 32] = ring_signal;
    ring_norms[threadIdx.x / 32] = ring_norm;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < kSettleThreads / 32; ++warp) {
    ring_signal += ring_signals[warp];
    ring_norm += ring_norms[warp];
  }
  found.any_masked[image] = 0;
  const double mean = ring_signal / ring_norm;
  stack.scalars[image * stack.scalars_stride] = Scalar::of_real(mean);
  std::uint8_t verdict = 0;
  if (ring.min_intensity > 0 && !(mean >= ring.min_intensity)) verdict = 1;
  if (ring.max_intensity > 0 && mean > ring.max_intensity) verdict = 2;
  if (verdict == 0) return;
  stack.findings[image].verdict = verdict;
  stack.findings[image].step = stack.step;
  stack.work[image] = 0;
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

Scatter scatter_for(PixelFormat format, std::uint32_t bins, std::uint32_t stack) {
  using memory::cuda::check;
  Scatter how;
  for (std::uint32_t together = kMostTogether; together > 0; together /= 2) {
    if (together > 1 && together > stack) continue;
    if (shared_bytes(bins, together) > kBlockBytes) continue;
    how.together = together;
    break;
  }
  if (how.together == 0) return how;
  int device = 0, processors = 0, blocks = 0;
  check(cudaGetDevice(&device), "the device of azimuthal");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "multiprocessors of the device");
  const std::size_t bytes = shared_bytes(bins, how.together);
  with_type(format.type, [&](auto pixel) {
    with_together(how.together, [&](auto together) {
      const auto kernel = scatter_pixels<decltype(pixel), together()>;
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBlockBytes)),
            "shared memory for azimuthal");
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, bytes), "blocks of azimuthal");
    });
  });
  how.blocks = static_cast<std::uint32_t>(std::max(1, blocks * processors));
  return how;
}

int scatter(const Scatter& how, const Tables& tables, PixelFormat format, const DeviceStack& stack, const Found& found,
            CUstream_st* stream) noexcept {
  const std::size_t bytes = shared_bytes(tables.bins, how.together);
  with_type(format.type, [&](auto pixel) {
    with_together(how.together, [&](auto together) {
      using T = decltype(pixel);
      scatter_pixels<T, together()>
          <<<how.blocks, kThreads, bytes, stream>>>(stack, tables, Limits<T>(photon_range(format)), found);
    });
  });
  return cudaGetLastError();
}

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

int settle(const Tables& tables, const Ring& ring, const DeviceStack& stack, const Found& found, double* profiles,
           CUstream_st* stream) noexcept {
  settle_images<<<stack.count, kSettleThreads, 0, stream>>>(stack, tables, ring, found, profiles);
  return cudaGetLastError();
}

}  // namespace rashpa::kernel::azimuthal::cuda
