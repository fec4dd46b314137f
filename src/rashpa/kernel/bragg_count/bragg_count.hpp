// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Bragg veto: counts bright pixels and decides by their number whether to keep the image. See README.md.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::bragg_count {

/// The limits: an image is kept when min_pixels ≤ bright pixels ≤ max_pixels.
struct Config {
  std::int32_t threshold = 1;  ///< photons; a pixel at or above is bright
  std::uint32_t min_pixels = 0;
  std::uint32_t max_pixels = std::numeric_limits<std::uint32_t>::max();
};

/// Throws ConfigError when the limits keep no image.
void check(const Config& config);

/// Makes a pipeline step. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// Returns the number of bright pixels among `pixels` pixels of any integer format: masked ones never count, saturated
/// ones do. The plain reference.
std::uint32_t count_reference(const void* image, PixelFormat format, std::size_t pixels,
                              std::int32_t threshold) noexcept;

/// Counts as count_reference() does, with the machine's widest vectors. After a kernel that offers Tap::count, the
/// count comes from that kernel.
std::uint32_t count(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold) noexcept;

}  // namespace rashpa::kernel::bragg_count
