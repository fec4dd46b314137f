// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "rashpa/kernel/azimuthal/device/azimuthal_cuda.hpp"
#include "rashpa/kernel/azimuthal/device/longest_run.hpp"
#include "rashpa/kernel/device/early_launch.cuh"
#include "rashpa/kernel/photons/photons.cuh"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::azimuthal::cuda {

namespace {

using kernel::cuda::DeviceStack;
using Word = unsigned long long;  // the type of atomicAdd

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

using kernel::cuda::let_next_begin;

// Sums of a block lie in its shared memory, a row of `Scatter::words` words for each bin: the warp's lanes share the
// images of the block and have words of their own in each row, so that the lanes of an addition use different banks
// whatever the bins are. A word has the sum of the low bits of counts and above it in how many pixels there were any,
// so that it takes kMostOfWord pixels; longest_run() says how many of an image are few enough. Higher bits of counts go
// to a word of the bin and image, and bits beyond that to the sums of the image at once.
constexpr unsigned kThreads = 1024;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kBankWords = 32;
constexpr unsigned kLowBits = 16;
constexpr unsigned kSumBits = 24;
constexpr unsigned kBits = 24;  // of counts that stay in shared memory
static_assert(kMostOfWord == (1U << (32 - kSumBits)) - 1 && kSumBits == kLowBits + (32 - kSumBits));
constexpr std::uint32_t kMostTogether = 4;
constexpr std::uint32_t kLeastWords = 4;
constexpr std::uint32_t kLeastCopies = 2;          // of an image, so that a step of a run is few enough
constexpr std::uint32_t kEnoughPixels = 1U << 16;  // of a run
constexpr unsigned kEightsAhead = 2;
constexpr unsigned kEightsInCache = 3;  // ahead, asked for by the second-level cache
constexpr unsigned kRegisters = 48;     // a thread: blocks of settle_images() have room beside a block of these
constexpr std::uint32_t kWaves = 2;
constexpr std::uint32_t kLeastGroups = 5;  // of a wave

template <typename T>
struct Limits {
  std::int64_t least, most;
  std::uint32_t plain;  // counts from 1 to here go into one word
  explicit Limits(PhotonRange range) noexcept
      : least(range.least),
        most(range.most),
        plain(static_cast<std::uint32_t>(std::clamp<std::int64_t>(range.most, 0, (1 << kLowBits) - 1))) {}
};

/// Pixels have counts with more bits than a word takes.
template <typename T>
constexpr bool kHasHigh = sizeof(T) > 2;

/// Describes which pixels and which words a lane has.
struct Lane {
  std::uint32_t image;   ///< of those of its block
  std::uint32_t offset;  ///< of its first pixel in a run
  std::uint32_t stride;  ///< from its eight pixels to the next ones
  std::uint32_t word;    ///< of a row
  /// `together`: images, a power of 2.
  __device__ Lane(const Scatter& how, std::uint32_t together) {
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::uint32_t of_image = 32 / together, copies = how.words / together;
    image = lane / of_image;
    offset = (warp * of_image + lane % of_image) * 8;
    stride = kWarps * of_image * 8;
    word = image * copies + lane % copies;
  }
};

/// Pixels that are not plain: negative, large, or masked.
template <typename T>
__device__ void add(const Tables& tables, const Found& found, std::uint32_t* word, std::uint32_t* high,
                    std::uint32_t image, std::uint32_t bin, std::uint32_t pixel, std::int64_t value,
                    const Limits<T>& limits, std::uint32_t one) {
  if (bin >= tables.bins || value == 0) return;
  if (value < limits.least || value > limits.most) return take_away(tables, found, image, bin, pixel);
  if (value > 0 && value < 1 << (kHasHigh<T> ? kBits : kLowBits)) {
    atomicAdd(word, (static_cast<std::uint32_t>(value) & ((1U << kLowBits) - 1)) + one);
    if constexpr (kHasHigh<T>) {
      if (value >> kLowBits != 0) atomicAdd(high, static_cast<std::uint32_t>(value >> kLowBits));
    }
    return;
  }
  const std::size_t at = std::size_t{image} * tables.bins + bin;
  atomicAdd(reinterpret_cast<Word*>(&found.signal[at]), static_cast<Word>(value));
  if (one != 0 && value > 1) atomicAdd(reinterpret_cast<Word*>(&found.variance[at]), static_cast<Word>(value - 1));
}

/// Eight pixels on their way.
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
  /// Returns pixel `k` as an unsigned number, in which a negative value is large.
  __device__ __forceinline__ std::uint32_t operator[](unsigned k) const {
    constexpr unsigned kInWord = 4 / sizeof(T);
    return static_cast<std::make_unsigned_t<T>>(words[k / kInWord] >> (k % kInWord * 8 * sizeof(T)));
  }
};

/// Returns how many images are to be processed; puts those with ranks from `first` to `last` into `chosen`. Called by
/// the first warp.
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

/// Eight pixels of an image, and their bins, on their way.
template <typename T>
struct Eight {
  Pixels<T> pixels;
  uint4 bins;
};

/// The addend of a word for a plain count: the count, and `one` when there is any. `any_of_two` is 1 for each half of a
/// word when `one` is not 0.
template <typename T>
__device__ __forceinline__ std::uint32_t word_of(const Pixels<T>& pixels, unsigned k, std::uint32_t one,
                                                 std::uint32_t any_of_two) {
  if constexpr (sizeof(T) == 2) {
    static_assert(kSumBits == 24);
    const std::uint32_t two = pixels.words[k / 2];
    return __byte_perm(two, __vminu2(two, any_of_two), k % 2 == 0 ? 0x4510 : 0x6532);
  } else {
    return min(pixels[k], 1U) * one + pixels[k];
  }
}

template <typename T>
__device__ __forceinline__ bool all_plain(const Pixels<T>& pixels, std::uint32_t plain) {
  if constexpr (sizeof(T) == 2) {
    const auto& words = pixels.words;
    const std::uint32_t most = __vmaxu2(__vmaxu2(words[0], words[1]), __vmaxu2(words[2], words[3]));
    return max(most & 0xFFFFU, most >> 16U) <= plain;
  } else {
    std::uint32_t most = pixels[0];
#pragma unroll
    for (unsigned k = 1; k < 8; ++k) most = max(most, pixels[k]);
    return most <= plain;
  }
}

/// Adds to a word of shared memory by its address there, so that a product is one instruction.
__device__ __forceinline__ void add_to(std::uint32_t address, std::uint32_t what) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(what) : "memory");
}

/// The data there come into the second-level cache.
__device__ __forceinline__ void bring_near(const void* there) { asm volatile("prefetch.global.L2 [%0];" ::"l"(there)); }

/// The image that a lane looks at; bin b is at row[b · words].
template <typename T>
struct Looks {
  const Tables& tables;
  const Found& found;
  const Limits<T>& limits;
  const T* pixels;
  std::uint32_t image;
  std::uint32_t words;
  std::uint32_t* row;
  std::uint32_t* high;
  std::uint32_t together;
  std::uint32_t one;  ///< addend of a word for each pixel with counts

  __device__ __forceinline__ void load(Eight<T>& eight, std::uint32_t first) const {
    eight.bins = __ldg(reinterpret_cast<const uint4*>(tables.bin_of + first));
    eight.pixels.load(pixels + first);
  }
  __device__ __forceinline__ void one_by_one(std::uint32_t first, std::uint32_t end) const {
#pragma unroll 1
    for (std::uint32_t pixel = first; pixel < end; ++pixel) {
      const std::uint32_t bin = tables.bin_of[pixel];
      cuda::add<T>(tables, found, row + bin * words, high + bin * together, image, bin, pixel, pixels[pixel], limits,
                   one);
    }
  }
  /// A lane's pixels of a run; each is used when the ones behind it are on their way.
  __device__ __forceinline__ void add_run(std::uint32_t first, std::uint32_t run_end, std::uint32_t stride) const {
    constexpr unsigned kAhead = kEightsAhead;
    const std::uint32_t none = tables.bins << 16U | tables.bins;
    const std::uint32_t any_of_two = one != 0 ? 0x10001 : 0;
    const auto bins_at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
    const std::uint32_t bytes = words * static_cast<std::uint32_t>(sizeof(std::uint32_t));
    const std::uint32_t end = min(run_end, tables.pixels / 8 * 8);
    if (end < run_end && end >= first && (end - first) % stride == 0) one_by_one(end, run_end);  // fewer than eight
    Eight<T> ahead[kAhead];
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) {
      if (first + i * stride < end) load(ahead[i], first + i * stride);
    }
    const auto add = [&](const Eight<T>& eight) {
      const uint4& packed = eight.bins;
      if (packed.x == none && packed.y == none && packed.z == none && packed.w == none) return;
      if (!all_plain(eight.pixels, limits.plain)) return one_by_one(first, first + 8);
      const std::uint32_t of_two[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
      for (unsigned k = 0; k < 8; ++k) {
        const std::uint32_t bin = k % 2 == 0 ? of_two[k / 2] & 0xFFFFU : of_two[k / 2] >> 16U;
        add_to(bin * bytes + bins_at, word_of(eight.pixels, k, one, any_of_two));
      }
    };
    while (first < end) {
#pragma unroll
      for (unsigned i = 0; i < kAhead; ++i, first += stride) {
        if (first < end) add(ahead[i]);
        if (first + kEightsInCache * stride < end) bring_near(pixels + first + kEightsInCache * stride);
        if (first + kAhead * stride < end) load(ahead[i], first + kAhead * stride);
      }
    }
  }
};

/// The words of all bins go to the sums of the images, and are cleared.
template <typename T>
__device__ __forceinline__ void give_sums(const Tables& tables, const Found& found, const Scatter& how,
                                          const std::uint32_t* chosen, std::uint32_t here, std::uint32_t together,
                                          std::uint32_t* words, std::uint32_t* high) {
  const std::uint32_t copies = how.words / together;
  // Threads that would begin on the same bank begin with different words.
  const std::uint32_t turned = threadIdx.x * copies / kBankWords;
  for (std::uint32_t at = threadIdx.x; at < tables.bins * together; at += kThreads) {
    const std::uint32_t bin = at / together, i = at % together;
    Word signal = 0;
    std::uint32_t with_counts = 0;
    for (std::uint32_t set = 0; set < how.sets; ++set) {
      std::uint32_t* const own = words + set * (tables.bins + 1) * how.words + at * copies;
#pragma unroll 8
      for (std::uint32_t copy = 0; copy < copies; ++copy) {
        std::uint32_t& word = own[(copy + turned) % copies];
        signal += word & ((1U << kSumBits) - 1);
        with_counts += word >> kSumBits;
        word = 0;
      }
    }
    if constexpr (kHasHigh<T>) {
      signal += static_cast<Word>(high[at]) << kLowBits;
      high[at] = 0;
    }
    if (i >= here || signal == 0) continue;
    const std::size_t to = std::size_t{chosen[i]} * tables.bins + bin;
    atomicAdd(reinterpret_cast<Word*>(&found.signal[to]), signal);
    if (tables.errors == Errors::poisson && signal != with_counts) {
      atomicAdd(reinterpret_cast<Word*>(&found.variance[to]), signal - with_counts);
    }
  }
}

/// The blocks share the images that are to be processed, some at a time, by ranges of pixels.
template <typename T>
__global__ void __maxnreg__(kRegisters)
    scatter_pixels(const __grid_constant__ DeviceStack stack, const __grid_constant__ Tables tables,
                   const __grid_constant__ Scatter how, const __grid_constant__ Limits<T> limits,
                   const __grid_constant__ Found found) {
  extern __shared__ uint4
      shared[];  // words [set][bin][word]; the last bin is that of pixels in none; high [bin][image]
  __shared__ std::uint32_t chosen[kMostTogether];
  __shared__ std::uint32_t works;
  auto* const words = reinterpret_cast<std::uint32_t*>(shared);
  const std::uint32_t all_words = how.sets * (tables.bins + 1) * how.words;
  std::uint32_t* const high = words + all_words;
  const std::size_t pitch = stack.in_stride / sizeof(T);
  const std::uint32_t one = tables.errors == Errors::poisson ? 1U << kSumBits : 0;
  if (threadIdx.x < 32) {
    const std::uint32_t all = choose(stack, 0, 0, chosen);
    if (threadIdx.x == 0) works = all;
  }
  const std::uint32_t to_clear = all_words + (kHasHigh<T> ? tables.bins * how.together : 0);
  for (std::uint32_t i = threadIdx.x; i < (to_clear + 3) / 4; i += kThreads) shared[i] = {};
  __syncthreads();
  let_next_begin();
  if (works == 0) return;
  std::uint32_t together = how.together;
  while (together > works) together /= 2;
  const Lane lane(how, together);
  std::uint32_t* const row = words + (threadIdx.x / 32) % how.sets * (tables.bins + 1) * how.words + lane.word;
  const std::uint32_t groups = (works + together - 1) / together;
  const std::uint32_t step = kRunStep * how.sets;  // ranges and runs begin where words repeat
  // Groups are taken in waves, so that profiles of the first ones are made while the others are added up.
  const std::uint32_t of_wave = max(min(groups, kLeastGroups), (groups - 1) / how.waves + 1);
  for (std::uint32_t first_group = 0; first_group < groups; first_group += of_wave) {
    const std::uint32_t of_this = min(of_wave, groups - first_group);
    const std::uint32_t ranges = max(1U, gridDim.x / of_this);
    const std::uint32_t range = ((tables.pixels - 1) / ranges / step + 1) * step;
    for (std::uint32_t item = blockIdx.x; item < of_this * ranges; item += gridDim.x) {
      // Blocks beside each other read the same bins.
      const std::uint32_t group = first_group + item % of_this;
      const std::uint64_t start = std::uint64_t{item / of_this} * range;
      const std::uint64_t end = min(start + range, std::uint64_t{tables.pixels});
      if (start >= end) continue;
      const auto rank = static_cast<std::uint32_t>(std::uint64_t{works} * group / groups);
      const auto here = static_cast<std::uint32_t>(std::uint64_t{works} * (group + 1) / groups) - rank;
      if (threadIdx.x < 32) {
        __syncwarp();  // all have looked at those of the item before
        choose(stack, rank, rank + here, chosen);
      }
      __syncthreads();
      for (std::uint64_t begin = start; begin < end; begin += how.run) {
        if (lane.image < here) {
          const std::uint32_t image = chosen[lane.image];
          const Looks<T> looks{tables,   found,     limits, reinterpret_cast<const T*>(stack.in) + image * pitch,
                               image,    how.words, row,    high + lane.image,
                               together, one};
          looks.add_run(static_cast<std::uint32_t>(begin) + lane.offset,
                        static_cast<std::uint32_t>(min(begin + how.run, end)), lane.stride);
        }
        __syncthreads();
        give_sums<T>(tables, found, how, chosen, here, together, words, high);
        __syncthreads();
      }
      if (threadIdx.x < here) {
        __threadfence();
        atomicAdd(&found.pixels_done[chosen[threadIdx.x]], static_cast<std::uint32_t>(end - start));
      }
    }
  }
}

std::size_t shared_bytes(const Scatter& how, std::uint32_t bins, PixelFormat format) noexcept {
  const std::size_t high = pixel_bytes(format.type) > 2 ? std::size_t{bins} * how.together : 0;
  const std::size_t words = std::size_t{how.sets} * (bins + 1) * how.words + high;
  return (words + 3) / 4 * 4 * sizeof(std::uint32_t);
}

}  // namespace

Scatter scatter_for(PixelFormat format, std::span<const std::uint16_t> bin_of, std::uint32_t bins,
                    std::uint32_t stack) {
  using memory::cuda::check;
  int device = 0, processors = 0, most = 0, blocks = 0;
  check(cudaGetDevice(&device), "the device of azimuthal");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "multiprocessors of the device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "shared memory of the device");
  constexpr int kOwn = 256;  // bytes that the kernel has besides
  const auto fits = [&](const Scatter& how) {
    return shared_bytes(how, bins, format) <= static_cast<std::size_t>(most - kOwn);
  };
  Scatter how{.together = std::min(kMostTogether, std::bit_floor(stack)), .words = kBankWords, .sets = 1};
  while (!fits(how) && how.words > kLeastWords) {
    how.words /= 2;
    how.together = std::min(how.together, how.words / kLeastCopies);
  }
  if (!fits(how)) return {};
  const auto run_of = [&](const Scatter& one) {
    return longest_run(bin_of, bins, {one.words / one.together, one.sets});
  };
  const std::size_t enough = std::min<std::size_t>(kEnoughPixels, bin_of.size());
  how.run = run_of(how);
  // Few bins have room for more rows, those of different warps.
  while (how.run < enough && how.words == kBankWords && how.sets < kWarps) {
    Scatter more = how;
    more.sets *= 2;
    if (!fits(more)) break;
    how = more;
    how.run = run_of(how);
  }
  // Of a single image each block clears and adds up as many words as it has pixels: fewer words then.
  if (stack == 1 && how.words == kBankWords && how.sets == 1) {
    Scatter fewer = how;
    fewer.words /= 4;
    fewer.run = run_of(fewer);
    if (fewer.run >= enough) how = fewer;
  }
  with_type(format.type, [&](auto pixel) {
    const auto kernel = scatter_pixels<decltype(pixel)>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most - kOwn),
          "shared memory for azimuthal");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, shared_bytes(how, bins, format)),
          "blocks of azimuthal");
  });
  how.early = kernel::cuda::can_begin_early();
  how.waves = how.early ? kWaves : 1;
  how.blocks = static_cast<std::uint32_t>(std::max(1, blocks * processors));
  return how;
}

int scatter(const Scatter& how, const Tables& tables, PixelFormat format, const DeviceStack& stack, const Found& found,
            CUstream_st* stream) noexcept {
  with_type(format.type, [&](auto pixel) {
    using T = decltype(pixel);
    scatter_pixels<T><<<how.blocks, kThreads, shared_bytes(how, tables.bins, format), stream>>>(
        stack, tables, how, Limits<T>(photon_range(format)), found);
  });
  return cudaGetLastError();
}

}  // namespace rashpa::kernel::azimuthal::cuda
