// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/sigma_clip/device_method.hpp"

#include <algorithm>
#include <cstdint>

namespace rashpa::kernel::sigma_clip {

SigmaClip device_method(const Config& config, const Radii& radii) {
  const std::span<const std::uint32_t> first = radii.rings().first();
  std::uint32_t most = 3;
  for (std::uint32_t ring = 0; ring < radii.rings().count(); ++ring)
    most = std::max(most, first[ring + 1] - first[ring]);
  const bool hybrid = config.error_model == ErrorModel::hybrid;
  SigmaClip clip{.cycles = config.cycles,
                 .azimuthal = config.error_model == ErrorModel::azimuthal || (hybrid && config.cycles > 0),
                 .hybrid = hybrid,
                 .factor = config.cutoff,
                 .noise = config.noise};
  clip.reaches.reserve(most + 1);
  for (std::uint32_t left = 0; left <= most; ++left) clip.reaches.push_back(reach_of(config, std::max(left, 3U)));
  return clip;
}

}  // namespace rashpa::kernel::sigma_clip
