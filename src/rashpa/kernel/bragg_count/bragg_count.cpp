#include "rashpa/kernel/bragg_count/bragg_count.hpp"

#include <fmt/core.h>

#include "rashpa/core/error.hpp"
#include "rashpa/core/fill.hpp"

namespace rashpa::kernel::bragg_count {

void check(const Config& config) {
  if (config.min_pixels > config.max_pixels) {
    throw ConfigError(fmt::format("bragg_count: min_pixels {} is above max_pixels {}, no image would be kept",
                                  config.min_pixels, config.max_pixels));
  }
}

std::uint32_t count_reference(const std::int16_t* photons, std::size_t pixels, std::int16_t threshold) noexcept {
  std::uint32_t bright = 0;
  for (std::size_t i = 0; i < pixels; ++i) {
    if (photons[i] != kMaskedPhotons && photons[i] >= threshold) bright += 1;
  }
  return bright;
}

}  // namespace rashpa::kernel::bragg_count
