// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The background of a ring, and the pixels above it, computed by one block: for all kernels that do it, over a stack
/// (rings.cu) or resident. Compiled without fused multiply-adds, with the results of unit cpu.
#include <cuda_runtime.h>

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "rashpa/kernel/photons/pixel_value.cuh"
#include "rashpa/kernel/rings/ring_limits.hpp"
#include "rashpa/kernel/rings/rings.hpp"

namespace rashpa::kernel::cuda {

inline constexpr unsigned kRingThreads = 256;  // that look at a ring
inline constexpr unsigned kMarkedPixels = 8;   // of a thread
inline constexpr unsigned kAllLanes = ~0U;

template <typename T>
constexpr bool kNarrow = std::is_integral_v<T> && sizeof(T) <= 2;

/// The sums of values. Pixels of at most 16 bits and their squares are summed in 64-bit integers, all others in
/// float64; both are exact for integers. `Above`: the sums of values of 1 or more are kept separately, too.
template <typename T, bool Above>
struct Sums {
  using Sum = std::conditional_t<kNarrow<T>, long long, double>;
  Sum sum = 0;
  std::conditional_t<kNarrow<T>, unsigned long long, double> squares = 0;
  Sum sum_above = 0;
  std::uint32_t count = 0, count_above = 0;
  __device__ __forceinline__ void add(const Sums& other) {
    sum += other.sum;
    squares += other.squares;
    count += other.count;
    if constexpr (Above) {
      sum_above += other.sum_above;
      count_above += other.count_above;
    }
  }
  __device__ __forceinline__ Sums of_lane(unsigned distance) const {
    Sums other;
    other.sum = __shfl_xor_sync(kAllLanes, sum, distance);
    other.squares = __shfl_xor_sync(kAllLanes, squares, distance);
    other.count = __shfl_xor_sync(kAllLanes, count, distance);
    if constexpr (Above) {
      other.sum_above = __shfl_xor_sync(kAllLanes, sum_above, distance);
      other.count_above = __shfl_xor_sync(kAllLanes, count_above, distance);
    }
    return other;
  }
};

/// Sums of pixels of at most 16 bits as integers, restricted to a window. A masked pixel is less than all others.
template <typename T, bool Above>
class Whole {
 public:
  using Kept = std::int32_t;
  static constexpr std::uint32_t kMost = 4096;  // values that 32 bits add up
  __device__ static Kept kept(T pixel, PixelValue value) {
    const auto whole = static_cast<std::int32_t>(pixel);
    return whole >= value.least && whole <= value.most ? whole : INT_MIN;
  }
  /// Sets the window: low < value < high.
  __device__ __forceinline__ Whole(float low, float high) {
    constexpr float kEnd = 65536;  // beyond all values
    const std::int32_t least = low < -kEnd ? -65536 : low > kEnd ? 65537 : static_cast<std::int32_t>(floorf(low)) + 1;
    const std::int32_t most = high > kEnd ? 65536 : high < -kEnd ? -65537 : static_cast<std::int32_t>(ceilf(high)) - 1;
    const bool some = least <= most;
    least_ = some ? least : 1 << 20;
    span_ = some ? static_cast<std::uint32_t>(most - least) : 0;
  }
  [[nodiscard]] __device__ __forceinline__ bool holds(Kept value) const {
    return static_cast<std::uint32_t>(value) - static_cast<std::uint32_t>(least_) <= span_;
  }
  __device__ __forceinline__ void add(Kept value) {
    const bool in = holds(value);
    sum_ += in ? value : 0;
    const auto size = static_cast<std::uint32_t>(in ? value : 0);
    squares_ += static_cast<unsigned long long>(static_cast<std::uint32_t>(size * size));  // modulo 2^32: below it
    count_ += in ? 1 : 0;
    if constexpr (Above) {
      sum_above_ += in && value >= 1 ? value : 0;
      count_above_ += in && value >= 1 ? 1 : 0;
    }
  }
  /// Adds the sums to `all`, and resets them.
  __device__ __forceinline__ void flush(Sums<T, Above>& all) {
    all.sum += sum_;
    all.squares += squares_;
    all.count += count_;
    all.sum_above += sum_above_;
    all.count_above += count_above_;
    sum_ = sum_above_ = 0;
    squares_ = 0;
    count_ = count_above_ = 0;
  }

 private:
  std::int32_t least_, sum_ = 0, sum_above_ = 0;
  std::uint32_t span_, count_ = 0, count_above_ = 0;
  unsigned long long squares_ = 0;
};

/// Sums of all other pixels, as float32.
template <typename T, bool Above>
class Real {
 public:
  using Kept = float;
  static constexpr std::uint32_t kMost = ~0U / kRingThreads;
  __device__ static Kept kept(T pixel, PixelValue value) { return value(pixel); }
  __device__ __forceinline__ Real(float low, float high) : low_(low), high_(high) {}
  __device__ __forceinline__ void add(Kept value) {
    if (!(value > low_ && value < high_)) return;
    all_.sum += double{value};
    all_.squares += double{value} * double{value};
    all_.count += 1;
    if (!Above || !(value >= 1)) return;
    all_.sum_above += double{value};
    all_.count_above += 1;
  }
  __device__ __forceinline__ void flush(Sums<T, Above>& all) {
    all.add(all_);
    all_ = {};
  }

 private:
  float low_, high_;
  Sums<T, Above> all_;
};

/// A ring of an image, read by the kRingThreads threads of a block. Shared memory keeps values as far as they fit; the
/// others are read again. kFresh: other blocks of the same kernel have written the image.
template <typename T, bool Above, bool kFresh>
class Values {
 public:
  using Found = Sums<T, Above>;
  using Some = std::conditional_t<kNarrow<T>, Whole<T, Above>, Real<T, Above>>;
  using Kept = typename Some::Kept;
  __device__ __forceinline__ Values(const T* pixels, const std::uint32_t* order, std::uint32_t count, PixelValue value,
                                    Kept* kept, std::uint32_t room, Found* of_warps)
      : pixels_(pixels),
        order_(order),
        count_(count),
        value_(value),
        kept_(kept),
        held_(min(count, room)),
        of_warps_(of_warps) {
    // Some at once: a thread waits for memory twice for all of them. Each reads only what it has put there.
    constexpr std::uint32_t kAtOnce = 8;
    std::uint32_t at = threadIdx.x;
    for (; at + (kAtOnce - 1) * kRingThreads < held_; at += kAtOnce * kRingThreads) {
      std::uint32_t places[kAtOnce];
      T read[kAtOnce];
#pragma unroll
      for (std::uint32_t k = 0; k < kAtOnce; ++k) places[k] = __ldg(&order_[at + k * kRingThreads]);
#pragma unroll
      for (std::uint32_t k = 0; k < kAtOnce; ++k) read[k] = load(places[k]);
#pragma unroll
      for (std::uint32_t k = 0; k < kAtOnce; ++k) kept_[at + k * kRingThreads] = Some::kept(read[k], value_);
    }
    for (; at < held_; at += kRingThreads) kept_[at] = Some::kept(load(__ldg(&order_[at])), value_);
  }
  /// Returns the sums of values with low < value < high. All threads call it and get the same.
  __device__ __forceinline__ Found sums(float low, float high) {
    Some some(low, high);
    Found mine;
    std::uint32_t at = threadIdx.x;
    while (at < count_) {
      const std::uint32_t end = count_ - at > Some::kMost * kRingThreads ? at + Some::kMost * kRingThreads : count_;
      const std::uint32_t held = min(end, held_);
#pragma unroll 4
      for (; at < held; at += kRingThreads) some.add(kept_[at]);
      for (; at < end; at += kRingThreads) some.add(Some::kept(load(order_[at]), value_));
      some.flush(mine);
    }
#pragma unroll
    for (unsigned distance = 16; distance > 0; distance /= 2) mine.add(mine.of_lane(distance));
    Found* const of_warp = of_warps_ + (odd_ ? kRingThreads / 32 : 0);  // those of the last round may still be read
    odd_ = !odd_;
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    Found all;
#pragma unroll
    for (unsigned warp = 0; warp < kRingThreads / 32; ++warp) all.add(of_warp[warp]);
    return all;
  }

 private:
  __device__ __forceinline__ T load(std::uint32_t pixel) const {
    if constexpr (kFresh) return __ldcg(&pixels_[pixel]);
    return __ldg(&pixels_[pixel]);
  }

  const T* pixels_;
  const std::uint32_t* order_;
  std::uint32_t count_;
  PixelValue value_;
  Kept* kept_;
  std::uint32_t held_;
  Found* of_warps_;
  bool odd_ = false;
};

struct SnrOnDevice {
  static constexpr bool kAbove = false;
  double min_snr, threshold;

  template <class Ring>
  __device__ RingLimit limit(Ring& ring) const {
    constexpr int kRounds = 5;
    float low = -1e9F, high = 1e9F, mean_found = 0;
    for (int round = 0; round < kRounds; ++round) {
      const float low_before = low, high_before = high;
      const auto all = ring.sums(low, high);
      if (all.count == 0) {
        low = FLT_MIN;
        high = FLT_MAX;
        mean_found = 0;
      } else {
        const double mean = static_cast<double>(all.sum) / all.count;
        const double variance = static_cast<double>(all.squares) / all.count - mean * mean;
        const double reach = min_snr * sqrt(variance > 0.0 ? variance : 0.0);
        const double above = mean + reach;
        low = static_cast<float>(mean - reach);
        high = static_cast<float>(above > threshold ? above : threshold);
        mean_found = static_cast<float>(mean);
      }
      if (low == low_before && high == high_before) break;  // and so it stays
    }
    return {high, mean_found};
  }
};

/// Eight pixels of an image from `first` on, and their rings. Pixels behind the last one are in no ring.
template <typename T>
class EightOfRings {
 public:
  __device__ EightOfRings(const T* image, const std::uint16_t* ring_of, std::uint32_t pixels, std::uint32_t first) {
    if (first + kMarkedPixels <= pixels) {
      pixels_ = *reinterpret_cast<const Pixels*>(image + first);
      places_ = *reinterpret_cast<const Places*>(ring_of + first);
      return;
    }
    for (unsigned k = 0; k < kMarkedPixels; ++k) {
      const bool there = first + k < pixels;
      pixels_.pixel[k] = there ? image[first + k] : T{};
      places_.ring[k] = there ? ring_of[first + k] : Rings::kNone;
    }
  }
  [[nodiscard]] __device__ T pixel(unsigned k) const { return pixels_.pixel[k]; }
  [[nodiscard]] __device__ std::uint16_t ring(unsigned k) const { return places_.ring[k]; }
  /// Returns a byte of marks, bit k for pixel k. The threshold of ring r is above[r · step].
  [[nodiscard]] __device__ std::uint8_t marks(PixelValue value, const float* above, std::uint32_t step) const {
    unsigned bits = 0;
#pragma unroll
    for (unsigned k = 0; k < kMarkedPixels; ++k) {
      const std::uint16_t ring = places_.ring[k];
      const bool is = ring != Rings::kNone && value(pixels_.pixel[k]) > above[ring * step];
      bits |= is ? 1U << k : 0U;
    }
    return static_cast<std::uint8_t>(bits);
  }

 private:
  struct alignas(sizeof(T) * kMarkedPixels < 16 ? 8 : 16) Pixels {
    T pixel[kMarkedPixels];
  };
  struct alignas(16) Places {
    std::uint16_t ring[kMarkedPixels];
  };
  Pixels pixels_;
  Places places_;
};

}  // namespace rashpa::kernel::cuda
