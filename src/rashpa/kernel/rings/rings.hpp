// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The rings of an image's pixels, and its values sorted by ring. Made once, before the run; then any number of threads
/// read it.
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
  static constexpr std::uint16_t kNone = 0xFFFF;  ///< ring of a pixel that is in no ring
  static constexpr std::uint32_t kMost = 0xFFFE;
  /// The pixels that are sorted at once. Their values stay in the cache, and neighbours go to a few pages of memory.
  static constexpr std::size_t kBand = std::size_t{1} << 16U;

  /// The values of one ring in a band: their place in the band's values, and their place in those of the image.
  struct Move {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t count = 0;
  };

  /// Prepares the tables. `ring_of` has the ring of each pixel, row-major, below `count` or kNone. Throws ConfigError
  /// when there are more than kMost.
  Rings(std::vector<std::uint16_t> ring_of, std::uint32_t count);

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(first_.size() - 2); }
  [[nodiscard]] std::span<const std::uint16_t> ring_of() const noexcept { return ring_of_; }
  /// Returns the place of each pixel's value among those of its band. They are sorted by ring and then by pixel; pixels
  /// in no ring come last.
  [[nodiscard]] std::span<const std::uint16_t> slot() const noexcept { return slot_; }
  /// Returns the moves of a band, for pixels from band · kBand on.
  [[nodiscard]] std::span<const Move> moves(std::size_t band) const noexcept {
    return std::span(moves_).subspan(first_move_[band], first_move_[band + 1] - first_move_[band]);
  }
  /// Returns the offsets of the sorted values: ring r has first()[r] to first()[r + 1].
  [[nodiscard]] std::span<const std::uint32_t> first() const noexcept { return first_; }

 private:
  std::vector<std::uint16_t> ring_of_;
  std::vector<std::uint16_t> slot_;
  std::vector<Move> moves_;
  std::vector<std::size_t> first_move_;  // of a band, and behind the last one
  std::vector<std::uint32_t> first_;
};

/// Returns the number of rings with pixels and without background, because none of their values is left. `limits` is
/// [ring].
template <typename Limit>
std::uint32_t empty_rings(const Rings& rings, std::span<const Limit> limits) noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t ring = 0; ring < rings.count(); ++ring) {
    count += rings.first()[ring + 1] > rings.first()[ring] && !limits[ring].known() ? 1 : 0;
  }
  return count;
}

/// The sums over the values of a ring between two bounds.
struct RingSums {
  double sum = 0;
  double squares = 0;
  std::uint32_t count = 0;
  friend bool operator==(const RingSums&, const RingSums&) = default;
};

/// Sorts an image by ring as float32; within a ring by pixel, NaN where one is masked; pixels in no ring are left out.
/// Integers above 2^24 are rounded. Uses the machine's widest vectors. `band` has room for Rings::kBand values.
void sort_by_ring(const void* image, PixelFormat format, const Rings& rings, float* band, float* sorted) noexcept;

/// Returns the sums of values with low < value < high. Sums of integers are exact (below 2^53), and so the same on all
/// machines.
RingSums ring_sums(const float* values, std::size_t count, float low, float high) noexcept;

/// Writes one bit for each pixel: set when its value exceeds that of its ring in `above` [ring], and clear for masked
/// pixels and those in no ring. `marks` has a word for each 64 pixels begun.
void mark_above(const void* image, PixelFormat format, const Rings& rings, const float* above,
                std::uint64_t* marks) noexcept;

/// Returns a pixel as float32, NaN when it is masked.
float pixel_value(const void* image, PixelFormat format, std::size_t pixel) noexcept;

}  // namespace rashpa::kernel
