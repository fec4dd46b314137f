// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/photons.hpp"

#include <fmt/core.h>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {

void check_threshold(const char* kernel, PixelFormat format, std::int32_t threshold) {
  const std::int64_t most = photon_range(format).most;
  if (threshold > most) {
    throw ConfigError(fmt::format("kernel {}: threshold: {} is beyond what {} pixels hold, {} at most", kernel,
                                  threshold, pixel_name(format.type), most));
  }
}

}  // namespace rashpa::kernel
