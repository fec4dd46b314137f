// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sigma clipping on OpenCL devices, as MarkedRings does it.
#include <span>

#include "rashpa/kernel/rings_opencl.hpp"
#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

namespace rashpa::kernel::sigma_clip {

/// What the device is to do: the same as Background, of which it marks the same candidates.
opencl::SigmaClip on_opencl(const Config& config, const Radii& radii);

/// The background that it has found.
inline std::span<const Bin> bins_of(std::span<const opencl::RingLimit> limits) noexcept {
  static_assert(sizeof(Bin) == sizeof(opencl::RingLimit));
  return {reinterpret_cast<const Bin*>(limits.data()), limits.size()};
}

}  // namespace rashpa::kernel::sigma_clip
