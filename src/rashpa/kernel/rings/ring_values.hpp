// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The values of an image by ring, with sums over windows of values, from which a radial background is computed.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/rings/rings.hpp"

namespace rashpa::kernel {

/// Sums of ring values in windows. Small integers are counted in a histogram for each ring, and the few large ones are
/// listed. Other images (float32, many large numbers, a ring of more than 65535 pixels) are sorted by ring. Both ways
/// give the same sums as long as these are exact: integers below 2^53. One thread at a time.
class RingValues {
 public:
  static constexpr std::uint32_t kBins = 256;            ///< bins of a ring
  static constexpr std::uint32_t kLargeBin = kBins - 2;  ///< bin of all values without a bin of their own
  static constexpr std::uint32_t kMaskedBin = kBins - 1;
  static constexpr std::uint32_t kNegative = 32;  ///< number of bins below 0, for pixels that may be negative

  /// Takes the memory. `rings` outlives the object; `width` is the pixels of a row. Throws std::bad_alloc.
  RingValues(const Rings& rings, std::size_t width);
  /// Reads an image. Does not allocate.
  void take(const void* image, PixelFormat format) noexcept;
  /// Returns the sums of a ring's values with low < value < high in the last image.
  [[nodiscard]] RingSums sums(std::uint32_t ring, float low, float high) const noexcept;
  /// Returns true when the last image was counted, and false when it was sorted.
  [[nodiscard]] bool counted() const noexcept { return counted_; }

 private:
  bool count(const void* image, PixelFormat format) noexcept;
  void settle(const void* image, PixelFormat format, std::size_t large) noexcept;

  const Rings* rings_;
  std::size_t width_;
  bool countable_ = true;        // a counter holds the pixels of any ring
  std::uint32_t sort_next_ = 0;  // images to be sorted without a try
  bool counted_ = false;
  std::uint32_t zero_ = 0;             // bin of the value 0
  std::vector<std::uint16_t> counts_;  // [ring][kBins]
  std::vector<std::uint32_t> found_;   // pixels with large values
  std::vector<std::uint32_t> first_;   // of a ring in large_, and behind the last one
  std::vector<float> large_;           // by ring
  std::vector<float> band_;
  std::vector<float> sorted_;
};

/// Counts the values of an image of integers: counts[ring][bin] grows by one for each pixel that lies in a ring and is
/// not 0. `zero` is the bin of the value 0. Pixels in the bin kLargeBin are listed in `large`. Returns their number;
/// large.size() means that there may be too little room, and then no output is valid.
std::size_t count_values(const void* image, PixelFormat format, const Rings& rings, std::size_t width,
                         std::uint32_t zero, std::uint16_t* counts, std::span<std::uint32_t> large) noexcept;

/// Returns the sums over bins [first, last) of a ring; none of them is kLargeBin or kMaskedBin.
RingSums counted_sums(const std::uint16_t* counts, std::uint32_t first, std::uint32_t last,
                      std::uint32_t zero) noexcept;

}  // namespace rashpa::kernel
