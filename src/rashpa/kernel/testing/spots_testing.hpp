// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Images with peaks, for tests of peak finders on devices.
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::opencl {

/// Returns an image with a background that falls with the radius, spots of many sizes, and masked pixels.
template <typename T>
std::vector<std::byte> with_spots(std::mt19937& random, const Shape& shape, T masked) {
  std::vector<T> image(shape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) {
    const std::size_t column = p % shape.width, row = p / shape.width;
    const double r = std::hypot(static_cast<double>(column) - 63.8, static_cast<double>(row) - 40.3);
    image[p] = static_cast<T>(std::poisson_distribution<int>(1 + 6 * std::exp(-r / 40))(random));
    if (random() % 100 == 0) image[p] = masked;
  }
  for (std::size_t spot = 0; spot < shape.pixels() / 400; ++spot) {
    const std::size_t at = random() % image.size();
    const std::size_t width = 1 + random() % 4, height = 1 + random() % 4;
    for (std::size_t dy = 0; dy < height; ++dy) {
      for (std::size_t dx = 0; dx < width; ++dx) {
        const std::size_t beside = at + dy * shape.width + dx;
        if (beside < image.size() && image[beside] != masked && random() % 5 != 0) {
          image[beside] = static_cast<T>(40 + random() % 60);
        }
      }
    }
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(image.data());
  return {bytes, bytes + image.size() * sizeof(T)};
}

inline Case spots(std::mt19937& random, PixelFormat format, const Shape& shape) {
  Case given{shape, format, {}};
  for (int i = 0; i < 4; ++i) {
    if (format.type == PixelType::f32) {
      given.images.push_back(with_spots(random, shape, std::numeric_limits<float>::quiet_NaN()));
      continue;
    }
    given.images.push_back(with_type(format.type, [&]<typename T>(T) {
      const T masked = format.masked == Masked::maximum    ? std::numeric_limits<T>::max()
                       : format.masked == Masked::negative ? static_cast<T>(-1)
                                                           : std::numeric_limits<T>::min();
      return with_spots(random, shape, masked);
    }));
  }
  return given;
}

}  // namespace rashpa::kernel::opencl
