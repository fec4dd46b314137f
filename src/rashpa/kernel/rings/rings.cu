// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): the kernel computes the same as unit cpu, in its order.
#include <algorithm>
#include <cmath>

#include "rashpa/kernel/device/early_launch.cuh"
#include "rashpa/kernel/rings/rings_counted.cuh"
#include "rashpa/kernel/rings/rings_cuda.hpp"
#include "rashpa/kernel/rings/rings_device.cuh"

namespace rashpa::kernel::cuda {

namespace {

constexpr unsigned kMarkThreads = 256;
constexpr unsigned kMostInSharedMemory = 200 * 1024;

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
  /// Narrows the window to values that lie within `reach` of the mean.
  __device__ static void narrow(float& low, float& high, double mean, double reach) {
    const float next_low = nextafterf(static_cast<float>(mean - reach), -INFINITY);
    const float next_high = nextafterf(static_cast<float>(mean + reach), INFINITY);
    low = low < next_low ? next_low : low;
    high = next_high < high ? next_high : high;
  }
  template <class Ring>
  __device__ RingLimit limit(Ring& ring) const {
    constexpr std::uint32_t kFewest = 3;
    float low = -INFINITY, high = INFINITY;
    bool by_scatter = azimuthal;
    auto now = ring.sums(low, high);
    Moments found = moments_of(now, by_scatter);
    std::uint32_t left = max(kFewest, found.count);
    for (std::uint32_t cycle = 1; cycle <= cycles && found.count > 0; ++cycle) {
      float next_low = low, next_high = high;
      narrow(next_low, next_high, found.mean, reaches[left] * sqrt(found.variance));
      auto kept = ring.sums(next_low, next_high);
      if (kept.count == 0 && !by_scatter) {
        next_low = low, next_high = high;
        narrow(next_low, next_high, found.mean, reaches[left] * sqrt(moments_of(now, true).variance));
        kept = ring.sums(next_low, next_high);
      }
      low = next_low, high = next_high;
      now = kept;
      const std::uint32_t clipped = found.count - kept.count;
      if (clipped == 0 && !hybrid) break;
      left = max(kFewest, left - clipped);
      if (hybrid && (cycle == cycles || clipped == 0)) by_scatter = false;
      found = moments_of(kept, by_scatter);
      if (clipped == 0) break;
    }
    const float none = __int_as_float(0x7FC00000);  // the same bits as Bin::none()
    if (found.count == 0) return {none, none};
    return {static_cast<float>(found.mean), static_cast<float>(sqrt(found.variance))};
  }
};

/// Finds the limits of each ring of an image, one block a ring; where it has been counted one warp is enough.
template <typename T, class Method>
__global__ void __launch_bounds__(kRingThreads)
    limit_rings(const T* images, std::size_t stride, const std::uint8_t* work, const std::uint32_t* order,
                const std::uint32_t* firsts, PixelValue value, Method method, RingLimit* limits, std::uint32_t room,
                Counted counted) {
  extern __shared__ std::uint32_t room_of_block[];
  __shared__ Sums<T, Method::kAbove> of_warps[2 * (kRingThreads / 32)];
  const std::uint32_t image = blockIdx.y, ring = blockIdx.x;
  const std::size_t at = std::size_t{image} * gridDim.x + ring;
  let_next_begin();
  wait_for_the_one_before();
  if (work[image] == 0) return;
  bool skipped = false;
  if constexpr (kNarrow<T>) {
    if (counted.bins != nullptr) {
      skipped = counted.state->skip != 0;
      const std::uint32_t others = counted.others[at];
      if (!skipped && others <= kRingOthers) {
        if (threadIdx.x >= 32) return;
        CountedRing<T, Method::kAbove> values(counted, at, others);
        const RingLimit found = method.limit(values);
        if (threadIdx.x != 0) return;
        limits[at] = found;
        counted.others[at] = 0;
        return;
      }
    }
  }
  const std::uint32_t first = firsts[ring];
  using OfRing = Values<T, Method::kAbove, false>;
  auto* const kept = reinterpret_cast<typename OfRing::Kept*>(room_of_block);
  OfRing values(images + image * stride, order + first, firsts[ring + 1] - first, value, kept, room, of_warps);
  const RingLimit found = method.limit(values);
  if (threadIdx.x == 0) limits[at] = found;
  if constexpr (kNarrow<T>) {
    if (counted.bins == nullptr) return;
    const bool bad = !skipped || !could_be_counted(values, counted.least);
    if (threadIdx.x < kRingBins) counted.bins[at * kRingBins + threadIdx.x] = 0;
    if (threadIdx.x != 0) return;
    counted.others[at] = 0;
    if (bad) atomicAdd(&counted.state->now, 1U);
  }
}

/// A thread a ring: a value that no pixel of the ring that sticks out is below. Backgrounds lie between those of
/// neighbours, and rounding on the way is much less than a thousandth.
__global__ void raise(const std::uint8_t* work, const RingLimit* limits, std::uint32_t rings, double factor,
                      double noise, float* above, CountedState* state) {
  const std::uint32_t image = blockIdx.y, ring = blockIdx.x * blockDim.x + threadIdx.x;
  let_next_begin();
  wait_for_the_one_before();
  if (state != nullptr && image == 0 && ring == 0) pass_on(state);
  if (work[image] == 0 || ring >= rings) return;
  const RingLimit* const of_image = limits + std::size_t{image} * rings;
  float mean = INFINITY, deviation = INFINITY;
  for (std::uint32_t beside = ring == 0 ? 0 : ring - 1; beside <= min(ring + 1, rings - 1); ++beside) {
    mean = fminf(mean, of_image[beside].first);
    deviation = fminf(deviation, of_image[beside].second);
  }
  const double limit = mean + factor * sqrt(double{deviation} * double{deviation} + noise * noise);
  const float lowered = static_cast<float>(limit - 1e-3 * (fabs(limit) + 1));
  above[std::size_t{image} * rings + ring] = isinf(mean) ? INFINITY : lowered;
}

/// A thread eight pixels. `above`: of ring r at r · `step`.
template <typename T>
__global__ void __launch_bounds__(kMarkThreads)
    mark(const T* images, std::size_t stride, const std::uint8_t* work, const std::uint16_t* ring_of,
         std::uint32_t pixels, PixelValue value, const float* above, std::uint32_t rings, std::uint32_t step,
         std::uint32_t* marks, std::uint32_t words) {
  const std::uint32_t image = blockIdx.y;
  const std::uint32_t first = (blockIdx.x * kMarkThreads + threadIdx.x) * kMarkedPixels;
  let_next_begin();
  // Pixels and rings stay as they were before limits were looked for, and may come while that goes on.
  if (work[image] == 0 || first >= words * 32) return wait_for_the_one_before();
  const EightOfRings<T> eight(images + image * stride, ring_of, pixels, first);
  wait_for_the_one_before();
  reinterpret_cast<std::uint8_t*>(marks + std::size_t{image} * words)[first / kMarkedPixels] =
      eight.marks(value, above + std::size_t{image} * rings * step, step);
}

/// One thread handles 32 pixels. Pixels above the smallest of all limits are marked already.
template <typename T>
__global__ void __launch_bounds__(kMarkThreads)
    mark_again(const T* images, std::size_t stride, const std::uint8_t* work, const std::uint16_t* ring_of,
               std::uint32_t pixels, PixelValue value, const float* above, std::uint32_t rings, std::uint32_t step,
               std::uint32_t* marks, std::uint32_t words, CountedState* state) {
  constexpr std::uint32_t kBytes = 32 / kMarkedPixels;
  const std::uint32_t image = blockIdx.y;
  const std::uint32_t word = blockIdx.x * kMarkThreads + threadIdx.x;
  let_next_begin();
  wait_for_the_one_before();
  if (image == 0 && word == 0) pass_on(state);
  if (work[image] == 0 || word >= words) return;
  std::uint32_t& here = marks[std::size_t{image} * words + word];
  const std::uint32_t marked = state->skip != 0 ? ~0U : here;
  if (marked == 0) return;
  std::uint32_t found = 0;
#pragma unroll
  for (std::uint32_t b = 0; b < kBytes; ++b) {
    if ((marked >> (b * kMarkedPixels) & 0xFFU) == 0) continue;
    const EightOfRings<T> eight(images + image * stride, ring_of, pixels, word * 32 + b * kMarkedPixels);
    found |= std::uint32_t{eight.marks(value, above + std::size_t{image} * rings * step, step)} << (b * kMarkedPixels);
  }
  here = found;
}

constexpr const char* kWhat = "what is known of rings";

/// The first ring of each tile.
std::vector<std::uint16_t> lowest_of(const Rings& rings, const Shape& shape) {
  const std::uint32_t across = (shape.width + kTileSide - 1) / kTileSide;
  const std::uint32_t down = (shape.height + kTileSide - 1) / kTileSide;
  std::vector<std::uint16_t> lowest(std::size_t{across} * down, Rings::kNone);
  for (std::size_t pixel = 0; pixel < rings.ring_of().size(); ++pixel) {
    const std::size_t x = pixel % shape.width, y = pixel / shape.width;
    std::uint16_t& of_tile = lowest[y / kTileSide * across + x / kTileSide];
    of_tile = std::min(of_tile, rings.ring_of()[pixel]);
  }
  return lowest;
}

bool counts(const Rings& rings, const Setup& setup) {
  return counts_rings(pixel_bytes(setup.in.type), setup.shape.pixels(), rings.count(), setup.stack);
}

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
      shape_(setup.shape),
      pixels_(static_cast<std::uint32_t>(setup.shape.pixels())),
      words_((pixels_ / 64 + 1) * 2),
      stack_(setup.stack),
      early_(begins_early(setup.stack)),
      order_(copy_to_device(order_of(rings), kWhat)),
      firsts_(copy_to_device(std::vector<std::uint32_t>(rings.first().begin(), rings.first().end()), kWhat)),
      ring_of_(copy_to_device(std::vector<std::uint16_t>(rings.ring_of().begin(), rings.ring_of().end()), kWhat)),
      reaches_(copy_to_device(
          std::holds_alternative<SigmaClip>(method) ? std::get<SigmaClip>(method).reaches : std::vector<double>(),
          kWhat)),
      lowest_(
          copy_to_device(counts(rings, setup) ? lowest_of(rings, setup.shape) : std::vector<std::uint16_t>(), kWhat)) {
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
    if (!counts(rings, setup)) continue;
    bins_.emplace_back(stack * rings_ * kRingBins * sizeof(std::uint32_t));
    others_.emplace_back(stack * rings_ * (kRingOthers + 1) * sizeof(std::int32_t));
    states_.emplace_back(sizeof(CountedState));
  }
}

MarkedRings::Seen MarkedRings::seen(std::uint32_t bench) const noexcept {
  return {.ring_of = ring_of_.as<std::uint16_t>(),
          .firsts = firsts_.as<std::uint32_t>(),
          .limits = limits_[bench].as<RingLimit>(),
          .marks = marks_[bench].as<std::uint32_t>(),
          .rings = rings_,
          .words = words_};
}

cudaError_t MarkedRings::enqueue(const DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  auto* const limits = limits_[bench].as<RingLimit>();
  auto* const above = above_[bench].as<float>();
  const PixelValue value = PixelValue::of(format_);
  const auto* const clip = std::get_if<SigmaClip>(&method_);
  const bool counted = !bins_.empty();
  Counted counts{};
  if (counted) {
    counts = {.bins = bins_[bench].as<std::uint32_t>(),
              .others = others_[bench].as<std::uint32_t>(),
              .values = others_[bench].as<std::int32_t>() + std::size_t{stack_} * rings_,
              .state = states_[bench].as<CountedState>(),
              .lowest = lowest_.as<std::uint16_t>(),
              .least = value.least < 0 ? kLeastOfSigned : 0};
  }
  const dim3 blocks_of_rings(rings_, stack.count);
  return with_image_type(format_.type, [&]<typename T>(T) {
    const auto* const images = reinterpret_cast<const T*>(stack.in);
    const std::size_t stride = stack.in_stride / sizeof(T);
    const auto* const ring_of = ring_of_.as<std::uint16_t>();
    auto* const marks = marks_[bench].as<std::uint32_t>();
    if constexpr (kNarrow<T>) {
      if (counted) {
        const auto* const rounds = std::get_if<SnrRounds>(&method_);
        // No limit of a ring is below the threshold.
        const float candidates = rounds != nullptr ? static_cast<float>(rounds->threshold) : 0;
        const dim3 blocks(tiles(shape_.width, kTileSide) * tiles(shape_.height, kTileSide), stack.count);
        const std::uint32_t most_bad = stack.count * rings_ / 4;
        const cudaError_t code = launch_early(false, count_rings<T>, blocks, kCountThreads, 0, stream, images, stride,
                                              stack.work, ring_of, shape_.width, shape_.height, rings_, value, counts,
                                              most_bad, candidates, rounds != nullptr ? marks : nullptr, words_);
        if (code != cudaSuccess) return code;
      }
    }
    const auto limit = [&](auto method) {
      return launch_early(early_ && counted, limit_rings<T, decltype(method)>, blocks_of_rings, kRingThreads,
                          room_ * sizeof(float), stream, images, stride, stack.work, order_.as<std::uint32_t>(),
                          firsts_.as<std::uint32_t>(), value, method, limits, room_, counts);
    };
    const float* marked_above = reinterpret_cast<const float*>(limits);
    std::uint32_t step = sizeof(RingLimit) / sizeof(float);
    if (clip != nullptr) {
      constexpr unsigned kThreads = 128;
      cudaError_t code = limit(ClipOnDevice{reaches_.as<double>(), clip->cycles, clip->azimuthal, clip->hybrid});
      if (code != cudaSuccess) return code;
      code = launch_early(early_, raise, dim3(tiles(rings_, kThreads), stack.count), kThreads, 0, stream, stack.work,
                          limits, rings_, clip->factor, clip->noise, above, counts.state);
      if (code != cudaSuccess) return code;
      marked_above = above;
      step = 1;
    } else {
      const auto& rounds = *std::get_if<SnrRounds>(&method_);
      const cudaError_t code = limit(SnrOnDevice{rounds.min_snr, rounds.threshold});
      if (code != cudaSuccess) return code;
      if (counted) {
        return launch_early(early_, mark_again<T>, dim3(tiles(words_, kMarkThreads), stack.count), kMarkThreads, 0,
                            stream, images, stride, stack.work, ring_of, pixels_, value, marked_above, rings_, step,
                            marks, words_, counts.state);
      }
    }
    return launch_early(early_, mark<T>, dim3(tiles(words_ * 32, kMarkThreads * kMarkedPixels), stack.count),
                        kMarkThreads, 0, stream, images, stride, stack.work, ring_of, pixels_, value, marked_above,
                        rings_, step, marks, words_);
  });
}

}  // namespace rashpa::kernel::cuda
