// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "rashpa/kernel/device/divisor.cuh"
#include "rashpa/kernel/unpack/edges.hpp"
#include "rashpa/kernel/unpack/unpack_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::unpack::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kVectors = 4;  // of 16 bytes, that a thread makes
constexpr std::uint32_t kVectorBytes = 16;

/// Describes where counters come from, in numbers that devices like.
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

/// Source of consecutive pixels: the counter of the first one, and how many pixels of its module's line follow it.
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

/// Makes one pixel, from a counter or for a gap.
template <std::uint32_t n, typename T>
__device__ __forceinline__ T pixel_at(const std::uint32_t* packed, const Plan& plan, std::uint32_t pixel) {
  const Source source = source_of(plan, pixel);
  if (source.follow == 0) return static_cast<T>(~0U);
  std::uint32_t word = 0;
  bits_of<n>(packed, std::uint64_t{source.counter} * n, &word);
  return static_cast<T>(word & ((1U << n) - 1U));
}

/// The first `count` bytes of 16, in word `w` of them.
__device__ __forceinline__ std::uint32_t bytes_below(std::uint32_t count, std::uint32_t w) {
  const std::uint32_t here = count > 4 * w ? count - 4 * w : 0;
  return here >= 4 ? ~0U : (1U << (8 * here)) - 1U;
}

template <std::uint32_t n, typename T>
__device__ __forceinline__ void unpack_edge(const std::uint32_t* packed, T* pixels, const Plan& plan,
                                            const Edge& edge) {
  constexpr std::uint32_t kPixels = kVectorBytes / sizeof(T);
  if (edge.before == Edge::kSingly) {
    for (std::uint32_t pixel = edge.pixel; pixel < min(edge.pixel + kPixels, plan.pixels); ++pixel) {
      pixels[pixel] = pixel_at<n, T>(packed, plan, pixel);
    }
    return;
  }
  std::uint32_t words[2][(kPixels * n + 31) / 32] = {};
  if (edge.before != 0) bits_of<kPixels * n>(packed, std::uint64_t{edge.first} * n, words[0]);
  if (edge.after != kPixels) bits_of<kPixels * n>(packed, std::uint64_t{edge.second} * n, words[1]);
  const uint4 ends = pixels_of<n, T>(words[0]);
  const uint4 begins = pixels_of<n, T>(words[1]);
  const auto joined = [&](std::uint32_t end, std::uint32_t begin, std::uint32_t w) {
    const std::uint32_t before = bytes_below(edge.before * sizeof(T), w);
    const std::uint32_t not_after = bytes_below(edge.after * sizeof(T), w);
    return (end & before) | (not_after & ~before) | (begin & ~not_after);
  };
  __stcs(reinterpret_cast<uint4*>(pixels + edge.pixel),
         uint4{joined(ends.x, begins.x, 0), joined(ends.y, begins.y, 1), joined(ends.z, begins.z, 2),
               joined(ends.w, begins.w, 3)});
}

/// A block makes a tile of one image, of which a thread makes vectors that lie kThreads vectors apart; behind the tiles
/// of an image, a thread makes one of its `edges`, which tiles leave out.
template <std::uint32_t n, typename T>
__global__ void __launch_bounds__(kThreads)
    unpack_tiles(const std::byte* images, std::size_t stride, std::byte* made, std::size_t made_stride,
                 const std::uint8_t* work, std::uint32_t tiles, std::uint32_t blocks, const Plan plan,
                 const Edge* edges, std::uint32_t edge_count) {
  constexpr std::uint32_t kPixels = kVectorBytes / sizeof(T);
  const std::uint32_t image = blockIdx.x / blocks;
  if (work[image] == 0) return;
  const std::uint32_t tile = blockIdx.x - image * blocks;
  const auto* const packed = reinterpret_cast<const std::uint32_t*>(images + image * stride);
  T* const pixels = reinterpret_cast<T*>(made + image * made_stride);
  if (tile >= tiles) {
    const std::uint32_t edge = (tile - tiles) * kThreads + threadIdx.x;
    if (edge < edge_count) unpack_edge<n, T>(packed, pixels, plan, edges[edge]);
    return;
  }
  const std::uint32_t first = tile * (kThreads * kVectors) + threadIdx.x;
  std::uint32_t words[kVectors][(kPixels * n + 31) / 32];
  bool whole[kVectors];
#pragma unroll
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    const std::uint32_t pixel = (first + v * kThreads) * kPixels;
    const Source source = pixel < plan.pixels ? source_of(plan, pixel) : Source{};
    whole[v] = source.follow >= kPixels;
    if (whole[v]) bits_of<kPixels * n>(packed, std::uint64_t{source.counter} * n, words[v]);
  }
#pragma unroll
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    if (whole[v]) {
      __stcs(reinterpret_cast<uint4*>(pixels + (first + v * kThreads) * kPixels), pixels_of<n, T>(words[v]));
    }
  }
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  explicit Pass(const Config& config)
      : bits_(config.bits), edges_(edges_of(config)), device_edges_(edges_.size() * sizeof(Edge)) {
    plan_.pixels = static_cast<std::uint32_t>(config.made().pixels());
    plan_.width = Divisor(config.made().width);
    plan_.module_width = config.module_width;
    plan_.module_height = config.module_height;
    plan_.modules_across = config.modules_across;
    plan_.step_x = Divisor(config.module_width + config.gap_x);
    plan_.step_y = Divisor(config.module_height + config.gap_y);
    plan_.gaps = has_gaps(config);
    memory::cuda::check(
        cudaMemcpy(device_edges_.as<void>(), edges_.data(), edges_.size() * sizeof(Edge), cudaMemcpyHostToDevice),
        "edges of modules of unpack");
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
    const auto edges = static_cast<std::uint32_t>(edges_.size());
    const std::uint32_t blocks = tiles + (edges + kThreads - 1) / kThreads;
    unpack_tiles<n, T><<<stack.count * blocks, kThreads, 0, stream>>>(stack.in, stack.in_stride, stack.out,
                                                                      stack.out_stride, stack.work, tiles, blocks,
                                                                      plan_, device_edges_.as<Edge>(), edges);
    return cudaGetLastError();
  }
  Bits bits_;
  Plan plan_{};
  std::vector<Edge> edges_;
  memory::cuda::DeviceMemory device_edges_;
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& /*setup*/) {
  return std::make_unique<Pass>(config);
}

}  // namespace rashpa::kernel::unpack::cuda
