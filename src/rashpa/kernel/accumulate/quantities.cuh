// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sums on a device, and the quantities computed from them.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "rashpa/kernel/accumulate/accumulate.hpp"

namespace rashpa::kernel::accumulate::cuda {

__extension__ using Wide = __int128;

/// The sums, as in Sums; null: not requested. A maximum has the bits of its type.
struct Parts {
  std::uint32_t* counted = nullptr;
  std::int64_t* sum = nullptr;
  std::uint64_t* squares[3]{};
  std::int32_t* most = nullptr;
  double* real_sum = nullptr;
  double* real_mean = nullptr;
  double* real_squares = nullptr;
  float* real_most = nullptr;
};

/// The requested quantities, in the order of the declaration.
struct Wanted {
  bool sum = false, mean = false, max = false, variance = false;
};
inline Wanted wanted_of(const Config& config) noexcept {
  return {config.sum, config.mean, config.max, config.variance};
}

/// The start values of Sums::max and Sums::real_max. A pixel that is masked in each image keeps them as its maximum.
struct Lowest {
  std::int32_t most = 0;
  std::int32_t masked = 0;
};
/// Returns the start values. `looked_at` is the format as which a device reads pixels of `format`.
inline Lowest lowest_of(PixelFormat format, PixelFormat looked_at) noexcept {
  if (format.type == PixelType::f32) {
    return {std::bit_cast<std::int32_t>(-std::numeric_limits<float>::infinity()),
            std::bit_cast<std::int32_t>(std::numeric_limits<float>::quiet_NaN())};
  }
  const bool with_sign = format.type == PixelType::i16 || format.type == PixelType::i32;
  return {lowest(looked_at), with_sign ? std::numeric_limits<std::int32_t>::min() : -1};
}

__device__ inline double variance_of(const Parts& parts, std::size_t p, std::uint32_t n) {
  if (n < 2) return nan("");
  if (parts.real_squares != nullptr) return parts.real_squares[p] / (n - 1.0);
  auto squares = static_cast<Wide>(parts.squares[0][p]);
  if (parts.squares[1] != nullptr) {
    squares += static_cast<Wide>(parts.squares[1][p]) << 17;
    squares += static_cast<Wide>(parts.squares[2][p]) << 32;
  }
  const auto sum = static_cast<Wide>(parts.sum[p]);
  const Wide numerator = static_cast<Wide>(n) * squares - sum * sum;
  return static_cast<double>(numerator) / (static_cast<double>(n) * (n - 1.0));
}

/// Writes the quantities of pixel p to `at`, by quantity.
__device__ inline void write_quantities(const Parts& parts, const Wanted& wanted, std::int32_t masked, std::size_t p,
                                        std::byte* const* at) {
  const std::uint32_t n = parts.counted[p];
  unsigned next = 0;
  const bool real = parts.real_sum != nullptr;
  if (wanted.sum) {
    // Both have 8 bytes.
    const auto bits = real ? __double_as_longlong(parts.real_sum[p]) : static_cast<long long>(parts.sum[p]);
    reinterpret_cast<long long*>(at[next++])[p] = bits;
  }
  if (wanted.mean) {
    const double sum = real ? parts.real_sum[p] : static_cast<double>(parts.sum[p]);
    reinterpret_cast<double*>(at[next++])[p] = n == 0 ? nan("") : sum / n;
  }
  if (wanted.max) {
    const std::int32_t most = real ? __float_as_int(parts.real_most[p]) : parts.most[p];
    reinterpret_cast<std::int32_t*>(at[next++])[p] = n == 0 ? masked : most;
  }
  if (wanted.variance) reinterpret_cast<double*>(at[next++])[p] = variance_of(parts, p, n);
  reinterpret_cast<std::uint32_t*>(at[next])[p] = n;
}

/// Calls `work(array)` for all arrays, null ones included, in the order of Part.
template <typename Work>
__device__ void for_arrays(const Parts& parts, Work work) {
  work(parts.counted);
  work(parts.sum);
  work(parts.most);
  for (std::uint64_t* const squares : parts.squares) work(squares);
  work(parts.real_sum);
  work(parts.real_mean);
  work(parts.real_squares);
  work(parts.real_most);
}

}  // namespace rashpa::kernel::accumulate::cuda
