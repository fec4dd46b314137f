// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Photon images of any integer type on CUDA devices.
#include <cstdint>
#include <type_traits>

#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel {

/// Eight pixels, loaded past the caches as words of 8 or 16 bytes. `from` is aligned to the eight pixels, or to 16
/// bytes.
template <typename T>
class Eight {
 public:
  __device__ __forceinline__ explicit Eight(const T* from) {
    if constexpr (sizeof(T) == 1) {
      const uint2 words = __ldcs(reinterpret_cast<const uint2*>(from));
      words_[0] = words.x;
      words_[1] = words.y;
    } else {
#pragma unroll
      for (unsigned w = 0; w < sizeof(T) / 2; ++w) {
        const uint4 words = __ldcs(reinterpret_cast<const uint4*>(from) + w);
        words_[4 * w] = words.x;
        words_[4 * w + 1] = words.y;
        words_[4 * w + 2] = words.z;
        words_[4 * w + 3] = words.w;
      }
    }
  }
  __device__ __forceinline__ T operator[](unsigned k) const {
    constexpr unsigned kInWord = 4 / sizeof(T);
    return static_cast<T>(words_[k / kInWord] >> (k % kInWord * 8 * sizeof(T)));
  }

 private:
  std::uint32_t words_[2 * sizeof(T)];
};

/// The test for counts at or above a threshold: one comparison for each pixel.
template <typename T>
struct Kept {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  Wide least = 0;
  std::uint32_t width = 0;  ///< unsigned distance from the least to the largest count
  bool none = true;

  static Kept of(const PhotonRange& range) noexcept {
    if (range.least > range.most) return {};
    return {static_cast<Wide>(range.least), static_cast<std::uint32_t>(range.most - range.least), false};
  }
  __device__ __forceinline__ bool operator()(T value) const {
    if constexpr (std::is_signed_v<T>) {
      return value >= least && !none;
    } else {
      return static_cast<std::uint32_t>(value) - least <= width && !none;
    }
  }
};

}  // namespace rashpa::kernel
