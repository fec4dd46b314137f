// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps on strips of images: consecutive rows, each strip on a device of its own. A step makes the same pixels there.
/// Its counts are parts, and its decision waits for the whole.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/core/frame/results.hpp"

namespace rashpa::kernel {

class Step;

/// Consecutive rows of an image.
struct Rows {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const Rows&, const Rows&) = default;
};

/// A bound of a step's verdict on one of its columns: `least` ≤ value ≤ `most`.
struct Bound {
  std::uint32_t column = 0;  ///< of the step's own
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::uint8_t below = 0;  ///< the verdict when it is below: which of the step's reasons, from 1
  std::uint8_t above = 0;
};

/// The verdict of the first bound that does not hold; 0: all hold. `columns`: the step's own, of the whole image.
constexpr std::uint8_t verdict_of(const Bound* bounds, std::size_t count, const Scalar* columns) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t value = columns[bounds[i].column].integer();
    if (value < bounds[i].least) return bounds[i].below;
    if (value > bounds[i].most) return bounds[i].above;
  }
  return 0;
}

/// A step on a strip of every image.
struct Strip {
  /// Makes the strip's pixels and list, and refuses nothing itself. Its columns are counts (u32, u64, i64) that add up
  /// over strips.
  std::shared_ptr<const Step> step;
  /// The bounds of the verdict, which sees the columns of the whole image. None: the verdict
  /// refuses nothing, or the step decides by the columns itself.
  std::vector<Bound> bounds{};
};

}  // namespace rashpa::kernel
