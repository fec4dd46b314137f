// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Test cases of units: rings around a point of the image, with gaps.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"

namespace rashpa::kernel::azimuthal {

inline Config test_rings(const Shape& shape, std::size_t bins, Errors errors, bool split, bool dark) {
  std::mt19937 random(3);
  Config config{.errors = errors};
  config.width = shape.width;
  for (std::size_t bin = 0; bin < bins; ++bin) config.radial_axis.push_back(0.5 + static_cast<double>(bin));
  for (std::size_t pixel = 0; pixel < shape.pixels(); ++pixel) {
    const std::size_t column = pixel % shape.width, row = pixel / shape.width;
    const double x = static_cast<double>(column) - 40, y = static_cast<double>(row) - 30;
    const auto bin = static_cast<std::uint32_t>(std::hypot(x, y) / 70 * static_cast<double>(bins));
    const bool gap = pixel % 41 == 0 || bin >= bins;
    config.norm.push_back(gap ? 0.0F : 0.5F + static_cast<float>(random() % 100) * 0.01F);
    if (dark) config.dark.push_back(static_cast<float>(pixel % 3) * 0.25F);
    if (!split) {
      config.bins.push_back(gap ? kNoBin : bin);
      continue;
    }
    for (std::uint32_t i = 0; !gap && i < 1 + pixel % 3 && bin + i < bins; ++i) {
      config.share_bins.push_back(bin + i);
      config.shares.push_back(0.01F + static_cast<float>(random() % 100) / 300.0F);
    }
    config.share_ends.push_back(static_cast<std::uint32_t>(config.shares.size()));
  }
  return config;
}

}  // namespace rashpa::kernel::azimuthal
