// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps on strips of images: consecutive rows, each strip on its own device. A step makes the same pixels as on whole
/// images. Its counts are partial, and the decision follows from the counts of the whole image.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/core/frame/results.hpp"

namespace rashpa::kernel {

class Step;

/// The consecutive rows of a strip.
struct Rows {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const Rows&, const Rows&) = default;
};

/// A bound of a step's verdict on one of its columns: `least` ≤ value ≤ `most`.
struct Bound {
  std::uint32_t column = 0;  ///< number among the step's own columns
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::uint8_t below = 0;  ///< verdict for a value that is too small: number of the reason, from 1
  std::uint8_t above = 0;
};

/// Returns the verdict of the first bound that does not hold; 0: all hold. `columns` are the step's own, for the whole
/// image.
constexpr std::uint8_t verdict_of(const Bound* bounds, std::size_t count, const Scalar* columns) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t value = columns[bounds[i].column].integer();
    if (value < bounds[i].least) return bounds[i].below;
    if (value > bounds[i].most) return bounds[i].above;
  }
  return 0;
}

/// A step on a strip of each image.
struct Strip {
  /// Makes the strip's pixels and list, and refuses no image. Its columns are counts (u32, u64, i64) that are summed
  /// over strips.
  std::shared_ptr<const Step> step;
  /// The bounds of the verdict on the columns of the whole image. Empty: the step refuses no image, or decides by its
  /// columns itself.
  std::vector<Bound> bounds{};
};

}  // namespace rashpa::kernel
