// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::sink {

/// The range of pixel values that are measurements. Floating point images have one only if `saturation` gives it.
struct ValueRange {
  std::optional<std::int64_t> least{};
  std::optional<std::int64_t> most{};
};

/// Returns the range. `largest_count` is that of the detector's own pixels; nothing: a kernel made the pixels.
/// `saturation` is from the metadata; 0: not given.
[[nodiscard]] ValueRange value_range(PixelType pixel, std::optional<std::int64_t> largest_count,
                                     double saturation) noexcept;

}  // namespace rashpa::sink
