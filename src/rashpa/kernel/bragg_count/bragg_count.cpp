// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bragg_count/bragg_count.hpp"

#include <fmt/core.h>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::bragg_count {

void check(const Config& config) {
  if (config.min_pixels > config.max_pixels) {
    throw ConfigError(
        fmt::format("kernel bragg_count: min_pixels: {} is above max_pixels {}, and no image is kept; lower it",
                    config.min_pixels, config.max_pixels));
  }
}

std::uint32_t count_reference(const void* image, PixelFormat format, std::size_t pixels,
                              std::int32_t threshold) noexcept {
  const PhotonRange range = from_threshold(format, threshold);
  return with_type(format.type, [&]<typename T>(T) {
    const auto* values = static_cast<const T*>(image);
    std::uint32_t bright = 0;
    for (std::size_t i = 0; i < pixels; ++i) {
      const auto value = static_cast<std::int64_t>(values[i]);
      if (value >= range.least && value <= range.most) bright += 1;
    }
    return bright;
  });
}

}  // namespace rashpa::kernel::bragg_count
