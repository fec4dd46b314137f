// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::sink {

/// The range of pixel values that are measurements; nothing is stated of floating point images unless `saturation`
/// says it.
struct ValueRange {
  std::optional<std::int64_t> least{};
  std::optional<std::int64_t> most{};
};

/// `largest_count`: of the detector's own pixels, where their counts end; none: a kernel has made them. `saturation`:
/// of the metadata; 0: not given.
[[nodiscard]] ValueRange value_range(PixelType pixel, std::optional<std::int64_t> largest_count,
                                     double saturation) noexcept;

}  // namespace rashpa::sink
