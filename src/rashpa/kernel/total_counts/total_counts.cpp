// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/total_counts/total_counts.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::total_counts {

void check(const Config& config) {
  if (config.min_counts > config.max_counts) {
    throw ConfigError(
        fmt::format("kernel total_counts: min_counts: {} is above max_counts {}, and no image is kept; lower it",
                    config.min_counts, config.max_counts));
  }
}

Limits limits_of(const Config& config, std::size_t pixels) noexcept {
  const double masked = std::floor(config.max_masked * static_cast<double>(pixels));
  const std::int64_t least = config.min_counts > 0 ? config.min_counts : std::numeric_limits<std::int64_t>::min();
  return {least, config.max_counts, static_cast<std::uint32_t>(masked)};
}

Totals total_reference(const void* image, PixelFormat format, std::size_t pixels) noexcept {
  const PhotonRange range = photon_range(format);
  return with_type(format.type, [&]<typename T>(T) {
    const auto* values = static_cast<const T*>(image);
    Totals totals;
    for (std::size_t i = 0; i < pixels; ++i) {
      const auto value = static_cast<std::int64_t>(values[i]);
      if (value < range.least || value > range.most) {
        totals.masked += 1;
      } else {
        totals.counts += value;
      }
    }
    return totals;
  });
}

}  // namespace rashpa::kernel::total_counts
