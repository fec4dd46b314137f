// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Bragg veto: how many pixels are bright, and whether the image is kept for it. See README.md.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::bragg_count {

/// An image is kept when min_pixels ≤ bright pixels ≤ max_pixels.
struct Config {
  std::int32_t threshold = 1;  ///< photons; a pixel at or above is bright
  std::uint32_t min_pixels = 0;
  std::uint32_t max_pixels = std::numeric_limits<std::uint32_t>::max();
};

/// Throws ConfigError when no image could be kept.
void check(const Config& config);

/// A step of a pipeline. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// Bright pixels among `pixels` pixels of any integer format: masked ones never count, saturated ones do. The plain
/// reference.
std::uint32_t count_reference(const void* image, PixelFormat format, std::size_t pixels,
                              std::int32_t threshold) noexcept;

/// The same with the machine's widest vectors. Behind a kernel that offers Tap::count, that one counts on its way.
std::uint32_t count(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold) noexcept;

}  // namespace rashpa::kernel::bragg_count
