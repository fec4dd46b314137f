// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sigma clipping on devices, as the MarkedRings of OpenCL and of CUDA do it.
#include <span>

#include "rashpa/kernel/rings/ring_limits.hpp"
#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

namespace rashpa::kernel::sigma_clip {

/// The method of the device: the same as Background, of which it marks the same candidates.
SigmaClip device_method(const Config& config, const Radii& radii);

/// The background that it has found.
inline std::span<const Bin> bins_of(std::span<const RingLimit> limits) noexcept {
  static_assert(sizeof(Bin) == sizeof(RingLimit));
  return {reinterpret_cast<const Bin*>(limits.data()), limits.size()};
}

}  // namespace rashpa::kernel::sigma_clip
