// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/accumulate/accumulate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/accumulate/parts.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::accumulate {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool is_wide(PixelFormat format) noexcept { return pixel_bytes(format.type) == 4; }

__extension__ using Wide = __int128;  // 2^31 images of squares of 32 bits

Wide squares_of(const Sums& sums, std::size_t pixel) noexcept {
  Wide squares = static_cast<Wide>(sums.squares[0][pixel]);
  if (is_wide(sums.format)) {
    squares += static_cast<Wide>(sums.squares[1][pixel]) << 17;
    squares += static_cast<Wide>(sums.squares[2][pixel]) << 32;
  }
  return squares;
}

/// Unbiased: n − 1.
double variance_of(const Sums& sums, std::size_t pixel) noexcept {
  const std::uint32_t n = sums.counted[pixel];
  if (n < 2) return kNone;
  if (sums.format.type == PixelType::f32) return sums.real_squares[pixel] / (n - 1.0);
  const auto sum = static_cast<Wide>(sums.sum[pixel]);
  const Wide numerator = static_cast<Wide>(n) * squares_of(sums, pixel) - sum * sum;
  return static_cast<double>(numerator) / (static_cast<double>(n) * (n - 1.0));
}

double mean_of(const Sums& sums, std::size_t pixel) noexcept {
  const std::uint32_t n = sums.counted[pixel];
  if (n == 0) return kNone;
  return (sums.format.type == PixelType::f32 ? sums.real_sum[pixel] : static_cast<double>(sums.sum[pixel])) / n;
}

void write_max(const Sums& sums, void* to, std::size_t first, std::size_t last) noexcept {
  if (sums.format.type == PixelType::f32) {
    for (std::size_t p = first; p < last; ++p) {
      static_cast<float*>(to)[p] = sums.counted[p] == 0 ? std::numeric_limits<float>::quiet_NaN() : sums.real_max[p];
    }
    return;
  }
  const std::int32_t none = is_signed(sums.format) ? std::numeric_limits<std::int32_t>::min() : -1;
  for (std::size_t p = first; p < last; ++p) {
    static_cast<std::int32_t*>(to)[p] = sums.counted[p] == 0 ? none : sums.max[p];
  }
}

template <typename T>
void add_integers(Sums& sums, const T* image, std::size_t first, std::size_t last) noexcept {
  const PhotonRange range = photon_range(sums.format);
  for (std::size_t p = first; p < last; ++p) {
    const auto value = static_cast<std::int64_t>(image[p]);
    if (value < range.least || value > range.most) continue;
    sums.counted[p] += 1;
    sums.sum[p] += value;
    if (sums.wants_squares) {
      const auto size = static_cast<std::uint64_t>(value < 0 ? -value : value);
      if constexpr (sizeof(T) < 4) {
        sums.squares[0][p] += size * size;
      } else {
        const std::uint64_t a = size >> 16, b = size & 0xFFFF;
        sums.squares[0][p] += b * b;
        sums.squares[1][p] += a * b;
        sums.squares[2][p] += a * a;
      }
    }
    if (!sums.wants_max) continue;
    const auto word = static_cast<std::int32_t>(value);
    if constexpr (std::is_signed_v<T>) {
      sums.max[p] = std::max(sums.max[p], word);
    } else {
      sums.max[p] = static_cast<std::int32_t>(
          std::max(static_cast<std::uint32_t>(sums.max[p]), static_cast<std::uint32_t>(word)));
    }
  }
}

/// Welford.
void add_reals(Sums& sums, const float* image, std::size_t first, std::size_t last) noexcept {
  for (std::size_t p = first; p < last; ++p) {
    if (std::isnan(image[p])) continue;
    const double value = image[p];
    sums.counted[p] += 1;
    sums.real_sum[p] += value;
    if (sums.wants_max) sums.real_max[p] = std::max(sums.real_max[p], image[p]);
    if (!sums.wants_squares) continue;
    const double step = value - sums.real_mean[p];
    sums.real_mean[p] += step / sums.counted[p];
    sums.real_squares[p] += step * (value - sums.real_mean[p]);
  }
}

}  // namespace

void check(const Config& config) {
  if (config.sum || config.mean || config.max || config.variance) return;
  throw ConfigError(
      "kernel accumulate: sum, mean, max and variance are all off; switch one on, or leave the kernel out");
}

std::int32_t lowest(PixelFormat format) noexcept {
  return is_signed(format) ? std::numeric_limits<std::int32_t>::min() : 0;
}

Arrays arrays_of(const Config& config, const AccumulatedArrays& to) noexcept {
  Arrays arrays;
  std::size_t next = 0;
  if (config.sum) arrays.sum = to[next++];
  if (config.mean) arrays.mean = reinterpret_cast<double*>(to[next++]);
  if (config.max) arrays.max = to[next++];
  if (config.variance) arrays.variance = reinterpret_cast<double*>(to[next++]);
  arrays.counted = reinterpret_cast<std::uint32_t*>(to[next]);
  return arrays;
}

Sums::Sums(const Config& config, PixelFormat pixel_format, std::size_t pixels)
    : format(pixel_format), wants_max(config.max), wants_squares(config.variance), counted(pixels) {
  if (format.type == PixelType::f32) {
    real_sum.resize(pixels);
    real_mean.resize(wants_squares ? pixels : 0);
    real_squares.resize(wants_squares ? pixels : 0);
    real_max.resize(wants_max ? pixels : 0);
  } else {
    sum.resize(pixels);
    max.resize(wants_max ? pixels : 0);
    const std::size_t parts = !wants_squares ? 0 : is_wide(format) ? 3 : 1;
    for (std::size_t part = 0; part < parts; ++part) squares[part].resize(pixels);
  }
  start_anew(0, pixels);
}

void Sums::start_anew(std::size_t first, std::size_t last) noexcept {
  const auto fill = [&](auto& values, auto value) {
    if (values.empty()) return;
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(first), values.begin() + static_cast<std::ptrdiff_t>(last),
              value);
  };
  fill(counted, 0U);
  fill(sum, std::int64_t{0});
  for (auto& part : squares) fill(part, std::uint64_t{0});
  fill(max, lowest(format));
  fill(real_sum, 0.0);
  fill(real_mean, 0.0);
  fill(real_squares, 0.0);
  fill(real_max, -std::numeric_limits<float>::infinity());
}

void add_reference(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first,
                   std::size_t last) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (sums.format.type == PixelType::f32) {
      add_reals(sums, reinterpret_cast<const float*>(images[i]), first, last);
    } else {
      with_type(sums.format.type,
                [&]<typename T>(T) { add_integers(sums, reinterpret_cast<const T*>(images[i]), first, last); });
    }
  }
}

void write_window(const Config& config, const Sums& sums, const AccumulatedArrays& to, std::size_t first,
                  std::size_t last) noexcept {
  if (config.parts) {
    write_parts(sums, to, first, last);
  } else {
    write(sums, arrays_of(config, to), first, last);
  }
}

void write(const Sums& sums, const Arrays& to, std::size_t first, std::size_t last) noexcept {
  const auto at = static_cast<std::ptrdiff_t>(first), end = static_cast<std::ptrdiff_t>(last);
  if (to.sum != nullptr && sums.format.type == PixelType::f32) {
    std::copy(sums.real_sum.begin() + at, sums.real_sum.begin() + end, static_cast<double*>(to.sum) + first);
  } else if (to.sum != nullptr) {
    std::copy(sums.sum.begin() + at, sums.sum.begin() + end, static_cast<std::int64_t*>(to.sum) + first);
  }
  if (to.mean != nullptr) {
    for (std::size_t p = first; p < last; ++p) to.mean[p] = mean_of(sums, p);
  }
  if (to.max != nullptr) write_max(sums, to.max, first, last);
  if (to.variance != nullptr) {
    for (std::size_t p = first; p < last; ++p) to.variance[p] = variance_of(sums, p);
  }
  if (to.counted != nullptr) std::copy(sums.counted.begin() + at, sums.counted.begin() + end, to.counted + first);
}

}  // namespace rashpa::kernel::accumulate
