// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sets pixels that are bad in all images to the masked value, so that no later step counts them. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::bad_pixels {

struct Config {
  Shape shape{};                     ///< of the images
  std::vector<std::uint32_t> bad{};  ///< pixel numbers, ascending
};

/// Throws ConfigError when a pixel lies outside the image, or the pixels are not in order.
void check(const Config& config);

/// Makes a pipeline step. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// Returns the bits of a masked pixel of the format, in the lowest bits; no step counts it. Throws ConfigError when all
/// values of the format are counts.
std::uint32_t masked_bits(PixelFormat format);

/// Returns the bad pixels of an image as bits, 32 in a word.
std::vector<std::uint32_t> words_of(const Config& config);

}  // namespace rashpa::kernel::bad_pixels
