// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <type_traits>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/jungfrau/assembly/assembly_cuda.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"

namespace rashpa::kernel::jungfrau::cuda {

namespace {

using kernel::cuda::DeviceStack;

constexpr unsigned kThreads = 256;
constexpr unsigned kPairs = 4;  // of a thread; a warp's lie beside each other, 64 pixels at a time
constexpr std::uint32_t kTile = kThreads * kPairs * 2;

// An origin is a word: the pixel, and its shares in two bits each; kNoOrigin: a gap.
constexpr std::uint32_t kPixelBits = 28;
constexpr std::uint32_t kNoOrigin = ~0U;

constexpr std::uint32_t word_of(const Origin& origin) {
  if (origin.pixel == Origin::kNone) return kNoOrigin;
  return origin.pixel | std::uint32_t{origin.across} << kPixelBits | std::uint32_t{origin.down} << (kPixelBits + 2);
}

/// One of two shares of a value; codes stay what they are.
__device__ __forceinline__ std::int16_t share_of(std::int16_t value, std::uint32_t part) {
  if (part == Origin::whole || value == kMaskedPhotons || value == kSaturatedPhotons) return value;
  const int less = value >> 1;
  return static_cast<std::int16_t>(part == Origin::less ? less : value - less);
}
__device__ __forceinline__ float share_of(float value, std::uint32_t part) {
  return part == Origin::whole || isnan(value) ? value : __fmul_rn(0.5F, value);  // a device makes other NaNs
}

template <typename T>
__device__ __forceinline__ T gathered(const T* from, std::uint32_t origin) {
  if (origin == kNoOrigin) {
    if constexpr (std::is_same_v<T, float>) {
      return __uint_as_float(0x7FC00000U);
    } else {
      return kMaskedPhotons;
    }
  }
  const T value = from[origin & ((1U << kPixelBits) - 1)];
  if (origin >> kPixelBits == 0) return value;
  return share_of(share_of(value, origin >> kPixelBits & 3U), origin >> (kPixelBits + 2));
}

/// Gathers the assembled images. A pixel's source is read once a stack.
template <typename T>
__global__ void __launch_bounds__(kThreads) gather(const DeviceStack stack, const T* converted, std::size_t stride,
                                                   const std::uint32_t* origins, std::uint32_t pixels) {
  using Pair = std::conditional_t<std::is_same_v<T, float>, float2, short2>;
  const std::uint32_t first = blockIdx.x * kTile + threadIdx.x / 32 * (kPairs * 64) + threadIdx.x % 32 * 2;
  uint2 origin[kPairs];
#pragma unroll
  for (unsigned k = 0; k < kPairs; ++k) origin[k] = *reinterpret_cast<const uint2*>(origins + first + 64 * k);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    if (stack.work[i] == 0) continue;
    const T* const from = converted + i * stride;
    T* const to = reinterpret_cast<T*>(stack.out + i * stack.out_stride);
    Pair made[kPairs];
#pragma unroll
    for (unsigned k = 0; k < kPairs; ++k) made[k] = {gathered(from, origin[k].x), gathered(from, origin[k].y)};
#pragma unroll
    for (unsigned k = 0; k < kPairs; ++k) {
      if (first + 64 * k < pixels) *reinterpret_cast<Pair*>(to + first + 64 * k) = made[k];
    }
  }
}

}  // namespace

DeviceAssembly::DeviceAssembly(const Assembly& assembly, Output output, const Setup& setup)
    : output_(output),
      stride_((assembly.seen().pixels() + kGroup - 1) / kGroup * kGroup),
      pixels_(static_cast<std::uint32_t>((assembly.shape().pixels() + 1) / 2 * 2)),
      origins_((assembly.shape().pixels() + kTile - 1) / kTile * kTile * sizeof(std::uint32_t)) {
  if (assembly.seen().pixels() > std::size_t{1} << kPixelBits) {
    throw ConfigError("jungfrau: " + std::to_string(assembly.seen().pixels()) +
                      " pixels are more than unit cuda assembles; use unit cpu");
  }
  std::vector<std::uint32_t> words((assembly.shape().pixels() + kTile - 1) / kTile * kTile, kNoOrigin);
  const std::vector<Origin> origins = origins_of(assembly);
  for (std::size_t pixel = 0; pixel < origins.size(); ++pixel) words[pixel] = word_of(origins[pixel]);
  memory::cuda::check(cudaMemcpy(origins_.as<std::uint32_t>(), words.data(), words.size() * sizeof(std::uint32_t),
                                 cudaMemcpyHostToDevice),
                      "copy places of pixels to the device");
  const std::size_t bytes = output == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) converted_.emplace_back(setup.stack * stride_ * bytes);
}

cudaError_t DeviceAssembly::assemble(const DeviceStack& stack, std::uint32_t bench,
                                     cudaStream_t stream) const noexcept {
  const std::uint32_t blocks = (pixels_ + kTile - 1) / kTile;
  const auto* const origins = origins_.as<const std::uint32_t>();
  if (output_ == Output::kev) {
    gather<<<blocks, kThreads, 0, stream>>>(stack, converted_[bench].as<const float>(), stride_, origins, pixels_);
  } else {
    gather<<<blocks, kThreads, 0, stream>>>(stack, converted_[bench].as<const std::int16_t>(), stride_, origins,
                                            pixels_);
  }
  return cudaPeekAtLastError();
}

}  // namespace rashpa::kernel::jungfrau::cuda
