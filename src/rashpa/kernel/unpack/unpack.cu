// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cstdint>

#include "rashpa/kernel/divisor.cuh"
#include "rashpa/kernel/unpack/unpack_cuda.hpp"

namespace rashpa::kernel::unpack::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kVectors = 4;  // of 16 bytes, that a thread makes
constexpr std::uint32_t kVectorBytes = 16;

/// Where counters come from, in numbers that devices like.
struct Plan {
  std::uint32_t pixels = 0;  // of an image that is made
  Divisor width;
  std::uint32_t module_width = 0;
  std::uint32_t module_height = 0;
  std::uint32_t modules_across = 0;
  Divisor step_x;  // from module to module
  Divisor step_y;
  bool gaps = false;
};

/// Of some consecutive pixels: which counter is the first one's, and how many pixels of its module's line follow it.
struct Source {
  std::uint32_t counter = 0;
  std::uint32_t follow = 0;  // itself included; 0: the pixel is of a gap
};

__device__ __forceinline__ Source source_of(const Plan& plan, std::uint32_t pixel) {
  if (!plan.gaps) return {pixel, plan.pixels - pixel};
  std::uint32_t column = 0, line = 0, within = 0;
  const std::uint32_t down = plan.step_y(plan.width(pixel, column), line);
  const std::uint32_t across = plan.step_x(column, within);
  if (line >= plan.module_height || within >= plan.module_width) return {};
  const std::uint32_t lines = down * plan.module_height + line;
  return {(lines * plan.modules_across + across) * plan.module_width + within, plan.module_width - within};
}

/// `bits` bits of the image from bit `first` on, in the low ones of `words`. No word without any of them is read.
template <std::uint32_t bits>
__device__ __forceinline__ void bits_of(const std::uint32_t* image, std::uint64_t first, std::uint32_t* words) {
  constexpr std::uint32_t kWords = (bits + 31) / 32;
  const std::uint32_t* const from = image + first / 32;
  const auto shift = static_cast<std::uint32_t>(first % 32);
  std::uint32_t low = __ldg(from);
#pragma unroll
  for (std::uint32_t w = 0; w < kWords; ++w) {
    const bool more = w + 1 < kWords || shift + bits > 32 * kWords;
    const std::uint32_t high = more ? __ldg(from + w + 1) : 0;
    words[w] = __funnelshift_r(low, high, shift);
    low = high;
  }
}

/// Four counters of a bit, a byte each.
__device__ __forceinline__ std::uint32_t spread(std::uint32_t four) { return (four * 0x204081U) & 0x01010101U; }

/// 16 bytes of pixels of `n` bits, which lie in the low bits of `words`.
template <std::uint32_t n, typename T>
__device__ __forceinline__ uint4 pixels_of(const std::uint32_t* words) {
  if constexpr (n == 1) {
    return {spread(words[0] & 15U), spread(words[0] >> 4 & 15U), spread(words[0] >> 8 & 15U),
            spread(words[0] >> 12 & 15U)};
  } else {
    constexpr std::uint32_t kInWord = 4 / sizeof(T);
    std::uint32_t made[4] = {};
#pragma unroll
    for (std::uint32_t k = 0; k < 4 * kInWord; ++k) {
      const std::uint32_t bit = k * n;
      const std::uint32_t low = words[bit / 32];
      const std::uint32_t high = bit / 32 == (bit + n - 1) / 32 ? 0 : words[bit / 32 + 1];
      const std::uint32_t value = __funnelshift_r(low, high, bit % 32) & ((1U << n) - 1U);
      made[k / kInWord] |= value << (k % kInWord * 8 * sizeof(T));
    }
    return {made[0], made[1], made[2], made[3]};
  }
}

/// One pixel, of a counter or a gap.
template <std::uint32_t n, typename T>
__device__ __forceinline__ T pixel_at(const std::uint32_t* packed, const Plan& plan, std::uint32_t pixel) {
  const Source source = source_of(plan, pixel);
  if (source.follow == 0) return static_cast<T>(~0U);
  std::uint32_t word = 0;
  bits_of<n>(packed, std::uint64_t{source.counter} * n, &word);
  return static_cast<T>(word & ((1U << n) - 1U));
}

/// A thread makes vectors of pixels that lie kThreads vectors apart; a block a tile of one image, gaps included.
template <std::uint32_t n, typename T>
__global__ void __launch_bounds__(kThreads)
    unpack_tiles(const std::byte* images, std::size_t stride, std::byte* made, std::size_t made_stride,
                 const std::uint8_t* work, std::uint32_t tiles, const Plan plan) {
  constexpr std::uint32_t kPixels = kVectorBytes / sizeof(T);
  const std::uint32_t image = blockIdx.x / tiles;
  if (work[image] == 0) return;
  const auto* const packed = reinterpret_cast<const std::uint32_t*>(images + image * stride);
  T* const pixels = reinterpret_cast<T*>(made + image * made_stride);
  const std::uint32_t first = (blockIdx.x - image * tiles) * (kThreads * kVectors) + threadIdx.x;
  unsigned broken = 0;
#pragma unroll
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    const std::uint32_t pixel = (first + v * kThreads) * kPixels;
    if (pixel >= plan.pixels) break;
    const Source source = source_of(plan, pixel);
    if (source.follow >= kPixels) {
      std::uint32_t words[(kPixels * n + 31) / 32];
      bits_of<kPixels * n>(packed, std::uint64_t{source.counter} * n, words);
      __stcs(reinterpret_cast<uint4*>(pixels + pixel), pixels_of<n, T>(words));
    } else {
      broken |= 1U << v;
    }
  }
  // Where a module ends within the 16 bytes, lanes take a pixel each.
  const unsigned lane = threadIdx.x % 32;
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    for (unsigned rest = __ballot_sync(~0U, broken >> v & 1U); rest != 0; rest &= rest - 1) {
      const std::uint32_t of_lane = first + v * kThreads;
      const std::uint32_t pixel = __shfl_sync(~0U, of_lane, __ffs(static_cast<int>(rest)) - 1) * kPixels + lane;
      if (lane < kPixels && pixel < plan.pixels) pixels[pixel] = pixel_at<n, T>(packed, plan, pixel);
    }
  }
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  explicit Pass(const Config& config) : bits_(config.bits) {
    plan_.pixels = static_cast<std::uint32_t>(config.made().pixels());
    plan_.width = Divisor(config.made().width);
    plan_.module_width = config.module_width;
    plan_.module_height = config.module_height;
    plan_.modules_across = config.modules_across;
    plan_.step_x = Divisor(config.module_width + config.gap_x);
    plan_.step_y = Divisor(config.module_height + config.gap_y);
    plan_.gaps = config.made().pixels() !=
                 std::size_t{config.module_width} * config.module_height * config.modules_across * config.modules_down;
  }
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t /*bench*/,
              cudaStream_t stream) const noexcept override {
    switch (bits_) {
      case Bits::one:
        return launch<1, std::uint8_t>(stack, stream);
      case Bits::six:
        return launch<6, std::uint8_t>(stack, stream);
      case Bits::twelve:
        return launch<12, std::uint16_t>(stack, stream);
      case Bits::twenty_four:
        break;
    }
    return launch<24, std::uint32_t>(stack, stream);
  }

 private:
  template <std::uint32_t n, typename T>
  int launch(const kernel::cuda::DeviceStack& stack, cudaStream_t stream) const noexcept {
    constexpr std::uint32_t kTile = kThreads * kVectors * kVectorBytes / sizeof(T);
    const std::uint32_t tiles = plan_.pixels / kTile + (plan_.pixels % kTile != 0 ? 1 : 0);
    unpack_tiles<n, T><<<stack.count * tiles, kThreads, 0, stream>>>(stack.in, stack.in_stride, stack.out,
                                                                     stack.out_stride, stack.work, tiles, plan_);
    return cudaGetLastError();
  }
  Bits bits_;
  Plan plan_{};
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& /*setup*/) {
  return std::make_unique<Pass>(config);
}

}  // namespace rashpa::kernel::unpack::cuda
