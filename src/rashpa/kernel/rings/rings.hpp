// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pixels by the ring in which they lie, and the values of an image sorted by ring. Made once, before the run; then
/// read by any number of threads.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel {

class Rings {
 public:
  static constexpr std::uint16_t kNone = 0xFFFF;  ///< a pixel that is in no ring
  static constexpr std::uint32_t kMost = 0xFFFE;
  /// This many pixels are sorted at once: their values stay in the cache, and neighbours go to a few pages of memory.
  static constexpr std::size_t kBand = std::size_t{1} << 16U;

  /// Values of one ring in a band: from where in the band's values, to where in those of the image.
  struct Move {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t count = 0;
  };

  /// `ring_of`: of each pixel, row-major; below `count` or kNone. Throws ConfigError when there are more than kMost.
  Rings(std::vector<std::uint16_t> ring_of, std::uint32_t count);

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(first_.size() - 2); }
  [[nodiscard]] std::span<const std::uint16_t> ring_of() const noexcept { return ring_of_; }
  /// Where the value of pixel p goes among those of its band: by ring, in each the order of pixels; those in none last.
  [[nodiscard]] std::span<const std::uint16_t> slot() const noexcept { return slot_; }
  /// The moves of a band, for pixels from band · kBand on.
  [[nodiscard]] std::span<const Move> moves(std::size_t band) const noexcept {
    return std::span(moves_).subspan(first_move_[band], first_move_[band + 1] - first_move_[band]);
  }
  /// Sorted values of ring r: first()[r] to first()[r + 1].
  [[nodiscard]] std::span<const std::uint32_t> first() const noexcept { return first_; }

 private:
  std::vector<std::uint16_t> ring_of_;
  std::vector<std::uint16_t> slot_;
  std::vector<Move> moves_;
  std::vector<std::size_t> first_move_;  // of a band, and behind the last one
  std::vector<std::uint32_t> first_;
};

/// Rings in which pixels lie and that have no background: none of their values is left. `limits` [ring].
template <typename Limit>
std::uint32_t empty_rings(const Rings& rings, std::span<const Limit> limits) noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t ring = 0; ring < rings.count(); ++ring) {
    count += rings.first()[ring + 1] > rings.first()[ring] && !limits[ring].known() ? 1 : 0;
  }
  return count;
}

/// Sums over the values of a ring that lie between two bounds.
struct RingSums {
  double sum = 0;
  double squares = 0;
  std::uint32_t count = 0;
  friend bool operator==(const RingSums&, const RingSums&) = default;
};

/// An image, as float32: rings one after the other, in each the order of pixels, NaN where one is masked; pixels in no
/// ring are left out. Rounds integers above 2^24. The machine's widest vectors. `band`: room for Rings::kBand values.
void sort_by_ring(const void* image, PixelFormat format, const Rings& rings, float* band, float* sorted) noexcept;

/// The sums of values with low < value < high. Sums of whole numbers are exact (below 2^53), and so the same on every
/// machine.
RingSums ring_sums(const float* values, std::size_t count, float low, float high) noexcept;

/// One bit a pixel: its value is above that of its ring, `above` [ring]; pixels in no ring and masked ones are not.
/// `marks` has room for a word for every 64 pixels begun.
void mark_above(const void* image, PixelFormat format, const Rings& rings, const float* above,
                std::uint64_t* marks) noexcept;

/// A pixel as float32, NaN when it is masked.
float pixel_value(const void* image, PixelFormat format, std::size_t pixel) noexcept;

}  // namespace rashpa::kernel
