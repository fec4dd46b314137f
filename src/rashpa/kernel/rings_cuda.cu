// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): what is computed is what unit cpu computes, in its order.
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <type_traits>

#include "rashpa/kernel/pixel_value.cuh"
#include "rashpa/kernel/rings_cuda.hpp"

namespace rashpa::kernel::cuda {

namespace {

constexpr unsigned kRingThreads = 256;  // that look at a ring
constexpr unsigned kMarkThreads = 256;
constexpr unsigned kMarked = 8;  // pixels of a thread
constexpr unsigned kMostInSharedMemory = 200 * 1024;
constexpr unsigned kAll = ~0U;

template <typename T>
constexpr bool kNarrow = std::is_integral_v<T> && sizeof(T) <= 2;

/// Of some values. 16 bits fit the integers of a GPU, sums of their squares those of 64 bits; all others are summed in
/// float64. Both are exact for whole numbers. `Above`: values of at least 1 apart, too.
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
    other.sum = __shfl_xor_sync(kAll, sum, distance);
    other.squares = __shfl_xor_sync(kAll, squares, distance);
    other.count = __shfl_xor_sync(kAll, count, distance);
    if constexpr (Above) {
      other.sum_above = __shfl_xor_sync(kAll, sum_above, distance);
      other.count_above = __shfl_xor_sync(kAll, count_above, distance);
    }
    return other;
  }
};

/// Pixels of 16 bits at most, as integers, and which of them count. A masked one is less than all.
template <typename T, bool Above>
class Whole {
 public:
  using Kept = std::int32_t;
  static constexpr std::uint32_t kMost = 4096;  // values that 32 bits add up
  __device__ static Kept kept(T pixel, PixelValue value) {
    const auto whole = static_cast<std::int32_t>(pixel);
    return whole >= value.least && whole <= value.most ? whole : INT_MIN;
  }
  /// Those with low < value < high.
  __device__ __forceinline__ Whole(float low, float high) {
    constexpr float kEnd = 65536;  // beyond all values
    const std::int32_t least = low < -kEnd ? -65536 : low > kEnd ? 65537 : static_cast<std::int32_t>(floorf(low)) + 1;
    const std::int32_t most = high > kEnd ? 65536 : high < -kEnd ? -65537 : static_cast<std::int32_t>(ceilf(high)) - 1;
    const bool some = least <= most;
    least_ = some ? least : 1 << 20;
    span_ = some ? static_cast<std::uint32_t>(most - least) : 0;
  }
  __device__ __forceinline__ void add(Kept value) {
    const bool in = static_cast<std::uint32_t>(value) - static_cast<std::uint32_t>(least_) <= span_;
    sum_ += in ? value : 0;
    const auto size = static_cast<std::uint32_t>(in ? value : 0);
    squares_ += static_cast<unsigned long long>(static_cast<std::uint32_t>(size * size));  // modulo 2^32: below it
    count_ += in ? 1 : 0;
    if constexpr (Above) {
      sum_above_ += in && value >= 1 ? value : 0;
      count_above_ += in && value >= 1 ? 1 : 0;
    }
  }
  /// Adds them to `all`, and begins anew.
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

/// All others, as float32.
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

/// A ring of an image, for the threads of a block. Its values stay in shared memory, as many as it holds; the others
/// are read again.
template <typename T, bool Above>
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
      for (std::uint32_t k = 0; k < kAtOnce; ++k) read[k] = __ldg(&pixels_[places[k]]);
#pragma unroll
      for (std::uint32_t k = 0; k < kAtOnce; ++k) kept_[at + k * kRingThreads] = Some::kept(read[k], value_);
    }
    for (; at < held_; at += kRingThreads) kept_[at] = Some::kept(__ldg(&pixels_[__ldg(&order_[at])]), value_);
  }
  /// Of those with low < value < high. Every thread comes here and gets the same.
  __device__ __forceinline__ Found sums(float low, float high) {
    Some some(low, high);
    Found mine;
    std::uint32_t at = threadIdx.x;
    while (at < count_) {
      const std::uint32_t end = count_ - at > Some::kMost * kRingThreads ? at + Some::kMost * kRingThreads : count_;
      const std::uint32_t held = min(end, held_);
#pragma unroll 4
      for (; at < held; at += kRingThreads) some.add(kept_[at]);
      for (; at < end; at += kRingThreads) some.add(Some::kept(pixels_[order_[at]], value_));
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

struct Moments {
  std::uint32_t count = 0;
  double mean = 0;
  double variance = 0;
};

struct ClipOnDevice {
  static constexpr bool kAbove = true;
  const double* reaches;
  std::uint32_t cycles;
  bool azimuthal, hybrid;

  /// A pixel without counts has the variance of one with 1.
  template <class Found>
  __device__ static Moments moments_of(const Found& sums, bool by_scatter) {
    if (sums.count == 0) return {};
    const double mean = static_cast<double>(sums.sum) / sums.count;
    const double spread = static_cast<double>(sums.squares) / sums.count - mean * mean;
    const double counted = (static_cast<double>(sums.sum_above) + (sums.count - sums.count_above)) / sums.count;
    return {sums.count, mean, !by_scatter ? counted : spread > 0.0 ? spread : 0.0};
  }
  template <class Ring>
  __device__ RingLimit limit(Ring& ring) const {
    constexpr std::uint32_t kFewest = 3;
    float low = -INFINITY, high = INFINITY;
    bool by_scatter = azimuthal;
    Moments found = moments_of(ring.sums(low, high), by_scatter);
    std::uint32_t left = max(kFewest, found.count);
    for (std::uint32_t cycle = 1; cycle <= cycles && found.count > 0; ++cycle) {
      const double reach = reaches[left] * sqrt(found.variance);
      const float next_low = nextafterf(static_cast<float>(found.mean - reach), -INFINITY);
      const float next_high = nextafterf(static_cast<float>(found.mean + reach), INFINITY);
      low = low < next_low ? next_low : low;
      high = next_high < high ? next_high : high;
      const auto kept = ring.sums(low, high);
      const std::uint32_t clipped = found.count - kept.count;
      if (clipped == 0 && !hybrid) break;
      left = max(kFewest, left - clipped);
      if (hybrid && (cycle == cycles || clipped == 0)) by_scatter = false;
      found = moments_of(kept, by_scatter);
      if (clipped == 0) break;
    }
    if (found.count == 0) return {};
    return {static_cast<float>(found.mean), static_cast<float>(sqrt(found.variance))};
  }
};

/// A block a ring of an image.
template <typename T, class Method>
__global__ void __launch_bounds__(kRingThreads)
    limit_rings(const T* images, std::size_t stride, const std::uint8_t* work, const std::uint32_t* order,
                const std::uint32_t* firsts, PixelValue value, Method method, RingLimit* limits, std::uint32_t room) {
  extern __shared__ std::uint32_t room_of_block[];
  __shared__ Sums<T, Method::kAbove> of_warps[2 * (kRingThreads / 32)];
  const std::uint32_t image = blockIdx.y, ring = blockIdx.x;
  if (work[image] == 0) return;
  const std::uint32_t first = firsts[ring];
  using OfRing = Values<T, Method::kAbove>;
  auto* const kept = reinterpret_cast<typename OfRing::Kept*>(room_of_block);
  OfRing values(images + image * stride, order + first, firsts[ring + 1] - first, value, kept, room, of_warps);
  const RingLimit found = method.limit(values);
  if (threadIdx.x == 0) limits[std::size_t{image} * gridDim.x + ring] = found;
}

/// A thread a ring: a value that no pixel of the ring that sticks out is below. Backgrounds lie between those of
/// neighbours, and what is rounded on the way is much less than a thousandth.
__global__ void raise(const std::uint8_t* work, const RingLimit* limits, std::uint32_t rings, double factor,
                      double noise, float* above) {
  const std::uint32_t image = blockIdx.y, ring = blockIdx.x * blockDim.x + threadIdx.x;
  if (work[image] == 0 || ring >= rings) return;
  const RingLimit* const of_image = limits + std::size_t{image} * rings;
  float mean = INFINITY, deviation = INFINITY;
  for (std::uint32_t beside = ring == 0 ? 0 : ring - 1; beside <= min(ring + 1, rings - 1); ++beside) {
    mean = fminf(mean, of_image[beside].first);
    deviation = fminf(deviation, of_image[beside].second);
  }
  const double limit = mean + factor * sqrt(double{deviation} * double{deviation} + noise * noise);
  above[std::size_t{image} * rings + ring] = static_cast<float>(limit - 1e-3 * (fabs(limit) + 1));
}

/// A thread eight pixels: a byte of the marks, bit p of them pixel p. `above`: of ring r at r · `step`.
template <typename T>
__global__ void __launch_bounds__(kMarkThreads)
    mark(const T* images, std::size_t stride, const std::uint8_t* work, const std::uint16_t* ring_of,
         std::uint32_t pixels, PixelValue value, const float* above, std::uint32_t rings, std::uint32_t step,
         std::uint32_t* marks, std::uint32_t words) {
  const std::uint32_t image = blockIdx.y;
  if (work[image] == 0) return;
  const std::uint32_t first = (blockIdx.x * kMarkThreads + threadIdx.x) * kMarked;
  if (first >= words * 32) return;
  const T* const from = images + image * stride;
  const float* const of_ring = above + std::size_t{image} * rings * step;
  unsigned bits = 0;
  if (first + kMarked <= pixels) {
    struct alignas(sizeof(T) * kMarked < 16 ? 8 : 16) Some {
      T pixel[kMarked];
    };
    struct alignas(16) Places {
      std::uint16_t ring[kMarked];
    };
    const Some some = *reinterpret_cast<const Some*>(from + first);
    const Places places = *reinterpret_cast<const Places*>(ring_of + first);
#pragma unroll
    for (unsigned k = 0; k < kMarked; ++k) {
      const std::uint16_t ring = places.ring[k];
      const bool is = ring != Rings::kNone && value(some.pixel[k]) > of_ring[ring * step];
      bits |= is ? 1U << k : 0U;
    }
  } else {
    for (unsigned k = 0; k < kMarked && first + k < pixels; ++k) {
      const std::uint16_t ring = ring_of[first + k];
      if (ring != Rings::kNone && value(from[first + k]) > of_ring[ring * step]) bits |= 1U << k;
    }
  }
  reinterpret_cast<std::uint8_t*>(marks + std::size_t{image} * words)[first / kMarked] =
      static_cast<std::uint8_t>(bits);
}

constexpr const char* kWhat = "what is known of rings";

std::vector<std::uint32_t> order_of(const Rings& rings) {
  std::vector<std::uint32_t> next(rings.first().begin(), rings.first().begin() + rings.count());
  std::vector<std::uint32_t> order(rings.first()[rings.count()]);
  for (std::size_t pixel = 0; pixel < rings.ring_of().size(); ++pixel) {
    const std::uint16_t ring = rings.ring_of()[pixel];
    if (ring != Rings::kNone) order[next[ring]++] = static_cast<std::uint32_t>(pixel);
  }
  return order;
}

std::uint32_t tiles(std::uint32_t all, std::uint32_t one) { return (all + one - 1) / one; }

}  // namespace

MarkedRings::MarkedRings(const Rings& rings, const RingMethod& method, const Setup& setup)
    : method_(method),
      format_(setup.in),
      rings_(rings.count()),
      pixels_(static_cast<std::uint32_t>(setup.shape.pixels())),
      words_((pixels_ / 64 + 1) * 2),
      order_(copy_to_device(order_of(rings), kWhat)),
      firsts_(copy_to_device(std::vector<std::uint32_t>(rings.first().begin(), rings.first().end()), kWhat)),
      ring_of_(copy_to_device(std::vector<std::uint16_t>(rings.ring_of().begin(), rings.ring_of().end()), kWhat)),
      reaches_(copy_to_device(
          std::holds_alternative<SigmaClip>(method) ? std::get<SigmaClip>(method).reaches : std::vector<double>(),
          kWhat)) {
  std::uint32_t longest = 0;
  for (std::uint32_t ring = 0; ring < rings_; ++ring) {
    longest = std::max(longest, rings.first()[ring + 1] - rings.first()[ring]);
  }
  room_ = std::min<std::uint32_t>(longest, kMostInSharedMemory / sizeof(float));
  memory::cuda::check(with_image_type(format_.type,
                                      [&]<typename T>(T) {
                                        const void* const work =
                                            std::holds_alternative<SigmaClip>(method)
                                                ? reinterpret_cast<const void*>(&limit_rings<T, ClipOnDevice>)
                                                : reinterpret_cast<const void*>(&limit_rings<T, SnrOnDevice>);
                                        return cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                                    static_cast<int>(room_ * sizeof(float)));
                                      }),
                      "shared memory for the values of rings");
  const std::size_t stack = setup.stack;
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
    limits_.emplace_back(stack * rings_ * sizeof(RingLimit));
    above_.emplace_back(std::holds_alternative<SigmaClip>(method) ? stack * rings_ * sizeof(float) : 0);
    marks_.emplace_back(stack * words_ * sizeof(std::uint32_t));
  }
}

MarkedRings::Seen MarkedRings::seen(std::uint32_t bench) const noexcept {
  return {ring_of_.as<std::uint16_t>(), limits_[bench].as<RingLimit>(), marks_[bench].as<std::uint32_t>(), rings_,
          words_};
}

cudaError_t MarkedRings::enqueue(const DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  auto* const limits = limits_[bench].as<RingLimit>();
  auto* const above = above_[bench].as<float>();
  const PixelValue value = PixelValue::of(format_);
  const auto* const clip = std::get_if<SigmaClip>(&method_);
  return with_image_type(format_.type, [&]<typename T>(T) {
    const auto* const images = reinterpret_cast<const T*>(stack.in);
    const std::size_t stride = stack.in_stride / sizeof(T);
    const auto limit = [&](auto method) {
      limit_rings<T><<<dim3(rings_, stack.count), kRingThreads, room_ * sizeof(float), stream>>>(
          images, stride, stack.work, order_.as<std::uint32_t>(), firsts_.as<std::uint32_t>(), value, method, limits,
          room_);
    };
    const float* marked_above = reinterpret_cast<const float*>(limits);
    std::uint32_t step = sizeof(RingLimit) / sizeof(float);
    if (clip != nullptr) {
      constexpr unsigned kThreads = 128;
      limit(ClipOnDevice{reaches_.as<double>(), clip->cycles, clip->azimuthal, clip->hybrid});
      raise<<<dim3(tiles(rings_, kThreads), stack.count), kThreads, 0, stream>>>(stack.work, limits, rings_,
                                                                                 clip->factor, clip->noise, above);
      marked_above = above;
      step = 1;
    } else {
      const auto& rounds = *std::get_if<SnrRounds>(&method_);
      limit(SnrOnDevice{rounds.min_snr, rounds.threshold});
    }
    mark<T><<<dim3(tiles(words_ * 32, kMarkThreads * kMarked), stack.count), kMarkThreads, 0, stream>>>(
        images, stride, stack.work, ring_of_.as<std::uint16_t>(), pixels_, value, marked_above, rings_, step,
        marks_[bench].as<std::uint32_t>(), words_);
    return cudaGetLastError();
  });
}

}  // namespace rashpa::kernel::cuda
