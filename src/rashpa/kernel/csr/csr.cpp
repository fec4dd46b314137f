// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/csr/csr.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::csr {

void check(const Config& config) {
  if (!(config.capacity > 0 && config.capacity <= 1)) {
    throw ConfigError(fmt::format("kernel csr: capacity: {} is no fraction of the pixels; give one above 0 and up to 1",
                                  config.capacity));
  }
}

std::size_t capacity_of(const Config& config, std::size_t pixels) noexcept {
  const auto entries = static_cast<std::size_t>(std::ceil(config.capacity * static_cast<double>(pixels)));
  return std::clamp<std::size_t>(entries, 1, std::max<std::size_t>(pixels, 1));
}

std::size_t compact_reference(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold,
                              const Entries& out) noexcept {
  const PhotonRange range = from_threshold(format, threshold);
  return with_type(format.type, [&]<typename T>(T) {
    const auto* values = static_cast<const T*>(image);
    std::size_t count = 0;
    for (std::size_t i = 0; i < pixels; ++i) {
      const auto value = static_cast<std::int64_t>(values[i]);
      if (value < range.least || value > range.most) continue;
      if (count == out.capacity) return kOverflow;
      out.index[count] = static_cast<std::uint32_t>(i);
      static_cast<T*>(out.value)[count] = values[i];
      count += 1;
    }
    return count;
  });
}

}  // namespace rashpa::kernel::csr
