// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The values of an image by ring, asked for sums over windows: from which background by radius is made.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/rings/rings.hpp"

namespace rashpa::kernel {

/// Small whole numbers are counted, a histogram a ring, and the few large ones kept beside it. Other images (float32,
/// many large numbers, a ring of more than 65535 pixels) are sorted by ring. The sums are the same either way, as long
/// as they are exact: whole numbers below 2^53. One thread at a time.
class RingValues {
 public:
  static constexpr std::uint32_t kBins = 256;            ///< of a ring
  static constexpr std::uint32_t kLargeBin = kBins - 2;  ///< values that have no bin of their own
  static constexpr std::uint32_t kMaskedBin = kBins - 1;
  static constexpr std::uint32_t kNegative = 32;  ///< bins below 0, of pixels that may be negative

  /// `rings` outlives it; `width`: pixels of a row. Throws std::bad_alloc.
  RingValues(const Rings& rings, std::size_t width);
  /// Looks at an image. Does not allocate.
  void take(const void* image, PixelFormat format) noexcept;
  /// The sums of a ring's values with low < value < high, in the image taken.
  [[nodiscard]] RingSums sums(std::uint32_t ring, float low, float high) const noexcept;
  /// Returns true when the image taken was counted; else it was sorted.
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

/// Counts the values of an image: counts[ring][bin] grows by one for each pixel that lies in a ring and is not 0.
/// `zero`: bin of the value 0. Pixels in the bin kLargeBin are listed in `large`. Returns how many, or large.size()
/// when there may be no room for more of them; then nothing else means anything. For integers.
std::size_t count_values(const void* image, PixelFormat format, const Rings& rings, std::size_t width,
                         std::uint32_t zero, std::uint16_t* counts, std::span<std::uint32_t> large) noexcept;

/// Sums over bins [first, last) of a ring, none of them kLargeBin or kMaskedBin.
RingSums counted_sums(const std::uint16_t* counts, std::uint32_t first, std::uint32_t last,
                      std::uint32_t zero) noexcept;

}  // namespace rashpa::kernel
