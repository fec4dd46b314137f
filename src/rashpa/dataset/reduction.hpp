// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace rashpa::dataset {

/// The value of a bin: the sum of its pixels, or their mean.
enum class BinValue : std::uint8_t { sum, mean };

/// The largest side of a bin in pixels.
inline constexpr std::uint32_t kLargestBin = 8;

/// The reduction of frames before a DTP sends them (docs/how-to/reduce_at_the_source.md): an offset image is
/// subtracted, pixels below the threshold become 0, then rectangles of pixels become one pixel.
struct Reduction {
  std::uint32_t bin_x = 1, bin_y = 1;  ///< pixels of a bin, 1 … kLargestBin
  BinValue bin_by = BinValue::sum;
  double threshold = 0;  ///< 0: none
  /// The least and the largest count of integer pixels. Other values mean that the pixel has no count. Pixels of
  /// float32 have no count when they are NaN.
  std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  std::int64_t saturated = std::numeric_limits<std::int64_t>::max();  ///< value in place of counts above `most`
  /// A frame of the module as it is read out, in its pixel type; null: nothing is subtracted.
  std::shared_ptr<const std::vector<std::byte>> offset{};

  [[nodiscard]] bool bins() const noexcept { return bin_x > 1 || bin_y > 1; }
  [[nodiscard]] bool any() const noexcept { return bins() || threshold != 0 || offset != nullptr; }
  /// Compares offsets by their bytes.
  friend bool operator==(const Reduction& one, const Reduction& other) noexcept {
    const bool same_offset = one.offset == other.offset ||
                             (one.offset != nullptr && other.offset != nullptr && *one.offset == *other.offset);
    return one.bin_x == other.bin_x && one.bin_y == other.bin_y && one.bin_by == other.bin_by &&
           one.threshold == other.threshold && one.least == other.least && one.most == other.most &&
           one.saturated == other.saturated && same_offset;
  }
};

}  // namespace rashpa::dataset
