// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "rashpa/kernel/accumulate/accumulate_cuda.hpp"
#include "rashpa/kernel/accumulate/quantities.cuh"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::accumulate::cuda {

namespace {

using memory::cuda::DeviceMemory;

constexpr unsigned kThreads = 256;
constexpr unsigned kEach = 4;   // pixels of a thread, next to each other
constexpr unsigned kLoads = 8;  // images on their way at once
constexpr unsigned kWriteBlocks = 528;

/// The registers for a thread's pixels of one image.
template <typename T>
struct Words {
  using Type = std::conditional_t<sizeof(T) == 1, std::uint32_t, std::conditional_t<sizeof(T) == 2, uint2, uint4>>;
};

template <typename T>
__device__ __forceinline__ T pixel_of(const typename Words<T>::Type& words, unsigned k) {
  constexpr unsigned kInWord = 4 / sizeof(T);
  std::uint32_t word = 0;
  if constexpr (sizeof(T) == 1) {
    word = words;
  } else if constexpr (sizeof(T) == 2) {
    word = k < 2 ? words.x : words.y;
  } else {
    const std::uint32_t all[] = {words.x, words.y, words.z, words.w};
    word = all[k];
  }
  word >>= k % kInWord * 8 * sizeof(T);
  if constexpr (std::is_same_v<T, float>) {
    return __uint_as_float(word);
  } else {
    return static_cast<T>(word);
  }
}

/// Pixels next to each other of an array of sums: as many bytes at once as there are, 16 at most.
template <typename V>
__device__ __forceinline__ void load(const V* from, V (&to)[kEach]) {
  const auto* words = reinterpret_cast<const uint4*>(from);
#pragma unroll
  for (unsigned w = 0; w < kEach * sizeof(V) / sizeof(uint4); ++w) reinterpret_cast<uint4*>(to)[w] = words[w];
}
template <typename V>
__device__ __forceinline__ void store(V* to, const V (&from)[kEach]) {
  auto* words = reinterpret_cast<uint4*>(to);
#pragma unroll
  for (unsigned w = 0; w < kEach * sizeof(V) / sizeof(uint4); ++w) words[w] = reinterpret_cast<const uint4*>(from)[w];
}

/// Counts of kEach pixels. `limit`: the least count of signed pixels, the largest of unsigned ones.
template <typename T, bool kMaximum, bool kSquares>
class Integers {
  static constexpr bool kBig = sizeof(T) == 4;
  using Value = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  using Partial = std::conditional_t<kBig, std::int64_t, Value>;

 public:
  __device__ __forceinline__ void begin(const Parts& parts, std::size_t first) {
    load(parts.counted + first, counted_);
    load(parts.sum + first, sum_);
    if constexpr (kMaximum) load(reinterpret_cast<const Value*>(parts.most) + first, most_);
    if constexpr (kSquares) {
#pragma unroll
      for (unsigned part = 0; part < kSquareParts; ++part) load(parts.squares[part] + first, squares_[part]);
    }
  }
  __device__ __forceinline__ void add(unsigned k, T pixel, T limit) {
    const bool counts = std::is_signed_v<T> ? pixel >= limit : pixel <= limit;
    const auto value = counts ? static_cast<Value>(pixel) : Value{0};
    counted_[k] += counts ? 1 : 0;
    partial_[k] += value;
    if constexpr (kMaximum) {
      // A masked pixel lies below the least signed count, and is no larger than the initial value of a maximum.
      most_[k] = max(most_[k], std::is_signed_v<T> ? static_cast<Value>(pixel) : value);
    }
    if constexpr (kSquares) {
      auto size = static_cast<std::uint32_t>(value);
      if constexpr (std::is_signed_v<T>) size = value < 0 ? 0U - size : size;
      if constexpr (kBig) {
        const std::uint32_t a = size >> 16U;
        const std::uint32_t b = size & 0xFFFFU;
        squares_[0][k] += std::uint64_t{b} * b;
        squares_[1][k] += std::uint64_t{a} * b;
        squares_[2][k] += std::uint64_t{a} * a;
      } else {
        squares_[0][k] += std::uint64_t{size} * size;
      }
    }
  }
  /// Adds the partial sums to the whole ones, after 32 images at most, whose narrow pixels fit 32 bits.
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (unsigned k = 0; k < kEach; ++k) {
      sum_[k] += partial_[k];
      partial_[k] = 0;
    }
  }
  __device__ __forceinline__ void end(const Parts& parts, std::size_t first) const {
    store(parts.counted + first, counted_);
    store(parts.sum + first, sum_);
    if constexpr (kMaximum) store(reinterpret_cast<Value*>(parts.most) + first, most_);
    if constexpr (kSquares) {
#pragma unroll
      for (unsigned part = 0; part < kSquareParts; ++part) store(parts.squares[part] + first, squares_[part]);
    }
  }

 private:
  static constexpr unsigned kSquareParts = kBig ? 3 : 1;
  alignas(16) std::uint32_t counted_[kEach];
  alignas(16) std::int64_t sum_[kEach];
  alignas(16) Value most_[kEach];
  alignas(16) std::uint64_t squares_[kSquareParts][kEach];
  Partial partial_[kEach]{};
};

/// Reals: every image in its order, as the reference adds them.
template <bool kMaximum, bool kSquares>
class Reals {
 public:
  __device__ __forceinline__ void begin(const Parts& parts, std::size_t first) {
    load(parts.counted + first, counted_);
    load(parts.real_sum + first, sum_);
    if constexpr (kMaximum) load(parts.real_most + first, most_);
    if constexpr (kSquares) {
      load(parts.real_mean + first, mean_);
      load(parts.real_squares + first, squares_);
    }
  }
  __device__ __forceinline__ void add(unsigned k, float pixel, float /*limit*/) {
    if (isnan(pixel)) return;
    const auto value = static_cast<double>(pixel);
    counted_[k] += 1;
    sum_[k] += value;
    if constexpr (kMaximum) most_[k] = fmaxf(most_[k], pixel);
    if constexpr (kSquares) {
      const double step = value - mean_[k];
      mean_[k] += step / counted_[k];
      squares_[k] += step * (value - mean_[k]);
    }
  }
  __device__ __forceinline__ void settle() {}
  __device__ __forceinline__ void end(const Parts& parts, std::size_t first) const {
    store(parts.counted + first, counted_);
    store(parts.real_sum + first, sum_);
    if constexpr (kMaximum) store(parts.real_most + first, most_);
    if constexpr (kSquares) {
      store(parts.real_mean + first, mean_);
      store(parts.real_squares + first, squares_);
    }
  }

 private:
  alignas(16) std::uint32_t counted_[kEach];
  alignas(16) double sum_[kEach];
  alignas(16) float most_[kEach];
  alignas(16) double mean_[kEach];
  alignas(16) double squares_[kEach];
};

template <typename T, bool kMaximum, bool kSquares>
using Found = std::conditional_t<std::is_same_v<T, float>, Reals<kMaximum, kSquares>, Integers<T, kMaximum, kSquares>>;

/// Each thread adds kEach pixels of all images that are worked on. Loads go as far as the next multiple of 16 bytes,
/// which belongs to the image; arrays of sums have room for as many pixels.
template <typename T, bool kMaximum, bool kSquares>
__global__ void __launch_bounds__(kThreads) add_up(const T* images, std::size_t stride, std::uint32_t pixels, T limit,
                                                   const std::uint8_t* work, std::uint32_t count, Parts parts) {
  using Load = typename Words<T>::Type;
  const std::uint32_t first = (blockIdx.x * kThreads + threadIdx.x) * kEach;
  const std::uint32_t lane = threadIdx.x % 32;
  const bool here = first < pixels;
  bool begun = false;
  Found<T, kMaximum, kSquares> found;
  for (std::uint32_t base = 0; base < count; base += 32) {
    std::uint32_t left = __ballot_sync(~0U, base + lane < count && work[base + lane] != 0);
    if (left == 0 || !here) continue;
    if (!begun) found.begin(parts, first);
    begun = true;
    while (left != 0) {
      Load words[kLoads];
      bool there[kLoads];
#pragma unroll
      for (unsigned l = 0; l < kLoads; ++l) {
        there[l] = left != 0;
        if (there[l]) {
          const std::uint32_t image = base + __ffs(static_cast<int>(left)) - 1;
          words[l] = __ldcs(reinterpret_cast<const Load*>(images + image * stride + first));
        }
        left &= left - 1;
      }
#pragma unroll
      for (unsigned l = 0; l < kLoads; ++l) {
        if (!there[l]) break;
#pragma unroll
        for (unsigned k = 0; k < kEach; ++k) found.add(k, pixel_of<T>(words[l], k), limit);
      }
    }
    found.settle();
  }
  if (begun) found.end(parts, first);
}

/// Describes where quantities go, or the parts as they are; `ended`: where it says so, on the device.
struct Destination {
  std::byte* direct[kMostQuantities]{};
  std::byte* const* ended = nullptr;
  Wanted wanted;
  bool parts = false;
};

/// Writes what has been added up, if it goes anywhere, and starts anew. Neighbouring threads have neighbouring pixels:
/// host memory is written in whole lines.
__global__ void __launch_bounds__(kThreads)
    write_out(const Parts parts, const Lowest lowest, std::uint32_t pixels, const Destination to) {
  std::byte* const* const at = to.ended != nullptr ? to.ended : to.direct;
  if (at[0] == nullptr && to.ended != nullptr) return;
  const bool wanted = at[0] != nullptr;
  for (std::uint32_t p = blockIdx.x * kThreads + threadIdx.x; p < pixels; p += gridDim.x * kThreads) {
    if (wanted && to.parts) {
      unsigned next = 0;
      for_arrays(parts, [&](const auto* array) {
        using Value = std::remove_cv_t<std::remove_pointer_t<decltype(array)>>;
        if (array != nullptr) reinterpret_cast<Value*>(at[next++])[p] = array[p];
      });
    } else if (wanted) {
      write_quantities(parts, to.wanted, lowest.masked, p, at);
    }
    for_arrays(parts, [&](auto* array) {
      if (array != nullptr) array[p] = 0;
    });
    if (parts.most != nullptr) parts.most[p] = lowest.most;
    if (parts.real_most != nullptr) parts.real_most[p] = __int_as_float(lowest.most);
  }
}

class Pass final : public kernel::cuda::DevicePass, public kernel::cuda::DeviceAdding {
 public:
  Pass(const Config& config, const Setup& setup)
      : config_(config), format_(looked_at(setup.in)), pixels_(static_cast<std::uint32_t>(setup.shape.pixels())) {
    const bool real = setup.in.type == PixelType::f32;
    const bool big = pixel_bytes(setup.in.type) == 4;
    parts_.counted = keep<std::uint32_t>(true);
    parts_.sum = keep<std::int64_t>(!real);
    parts_.most = keep<std::int32_t>(!real && config.max);
    for (unsigned part = 0; part < 3; ++part) {
      parts_.squares[part] = keep<std::uint64_t>(!real && config.variance && (part == 0 || big));
    }
    parts_.real_sum = keep<double>(real);
    parts_.real_mean = keep<double>(real && config.variance);
    parts_.real_squares = keep<double>(real && config.variance);
    parts_.real_most = keep<float>(real && config.max);
    lowest_ = lowest_of(setup.in, format_);
    memory::cuda::check(write_to({}, nullptr), "start values of accumulate");
    memory::cuda::check(cudaStreamSynchronize(nullptr), "start values of accumulate");
  }
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t /*bench*/,
              cudaStream_t stream) const noexcept override {
    cudaError_t code = cudaSuccess;
    if (format_.type == PixelType::f32) {
      code = launch<float>(stack, 0, stream);
    } else {
      code = with_type(format_.type, [&](auto pixel) {
        using T = decltype(pixel);
        const PhotonRange range = photon_range(format_);
        return launch<T>(stack, static_cast<T>(std::is_signed_v<T> ? range.least : range.most), stream);
      });
    }
    if (code != cudaSuccess || stack.ended == nullptr) return code;
    Destination to;
    to.ended = stack.ended;
    return write_to(to, stream);
  }
  [[nodiscard]] bool in_turn() const override { return true; }
  int conclude(const AccumulatedArrays& to, cudaStream_t stream) const noexcept override {
    Destination destination;
    std::copy(to.begin(), to.end(), std::begin(destination.direct));
    return write_to(destination, stream);
  }

 private:
  template <typename T>
  T* keep(bool wanted) {
    constexpr std::size_t kRoom = 16;
    if (!wanted) return nullptr;
    return kept_.emplace_back((pixels_ + kRoom - 1) / kRoom * kRoom * sizeof(T)).template as<T>();
  }
  template <typename T>
  cudaError_t launch(const kernel::cuda::DeviceStack& stack, T limit, cudaStream_t stream) const noexcept {
    const auto start = [&](auto maximum, auto squares) {
      constexpr std::uint32_t kTile = kThreads * kEach;
      add_up<T, decltype(maximum)::value, decltype(squares)::value>
          <<<(pixels_ + kTile - 1) / kTile, kThreads, 0, stream>>>(reinterpret_cast<const T*>(stack.in),
                                                                   stack.in_stride / sizeof(T), pixels_, limit,
                                                                   stack.work, stack.count, parts_);
      return cudaGetLastError();
    };
    if (config_.max) {
      return config_.variance ? start(std::true_type(), std::true_type()) : start(std::true_type(), std::false_type());
    }
    return config_.variance ? start(std::false_type(), std::true_type()) : start(std::false_type(), std::false_type());
  }
  cudaError_t write_to(Destination to, cudaStream_t stream) const noexcept {
    to.wanted = wanted_of(config_);
    to.parts = config_.parts;
    const unsigned blocks = std::min((pixels_ + kThreads - 1) / kThreads, kWriteBlocks);
    write_out<<<blocks, kThreads, 0, stream>>>(parts_, lowest_, pixels_, to);
    return cudaGetLastError();
  }

  Config config_;
  PixelFormat format_;
  std::uint32_t pixels_;
  Parts parts_;
  Lowest lowest_;
  std::vector<DeviceMemory> kept_;
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup) {
  return std::make_unique<Pass>(config, setup);
}

}  // namespace rashpa::kernel::accumulate::cuda
