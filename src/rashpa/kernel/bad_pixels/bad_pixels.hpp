// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pixels that are bad in every image, at the masked value: no step behind counts them. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::bad_pixels {

struct Config {
  Shape shape{};                     ///< of the images
  std::vector<std::uint32_t> bad{};  ///< numbers of pixels, ascending
};

/// Throws ConfigError when a pixel lies in no image, or they are not in order.
void check(const Config& config);

/// A step of a pipeline. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// The bits of a masked pixel of the format, in the low ones; no step counts it. Throws ConfigError when all values
/// of the format count.
std::uint32_t masked_bits(PixelFormat format);

/// The pixels of an image as bits, 32 a word.
std::vector<std::uint32_t> words_of(const Config& config);

}  // namespace rashpa::kernel::bad_pixels
