// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sigma clipping on devices, for the MarkedRings of OpenCL and CUDA.
#include <span>

#include "rashpa/kernel/rings/ring_limits.hpp"
#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

namespace rashpa::kernel::sigma_clip {

/// Returns the device method that equals Background and marks the same candidates.
SigmaClip device_method(const Config& config, const Radii& radii);

/// Returns the limits that the device has found, as bins of the background.
inline std::span<const Bin> bins_of(std::span<const RingLimit> limits) noexcept {
  static_assert(sizeof(Bin) == sizeof(RingLimit));
  return {reinterpret_cast<const Bin*>(limits.data()), limits.size()};
}

}  // namespace rashpa::kernel::sigma_clip
