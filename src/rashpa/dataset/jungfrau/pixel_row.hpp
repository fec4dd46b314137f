// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/dataset/jungfrau/jungfrau_calibration.hpp"

namespace rashpa::dataset {

/// Columns of a row that vectors leave to their caller.
struct Columns {
  [[nodiscard]] std::span<const std::uint32_t> seen() const noexcept { return {at.data(), count}; }
  std::array<std::uint32_t, kJungfrauWidth + 64> at;  ///< a vector is stored whole
  std::size_t count = 0;
};

/// The random values for the pixels of one row of a module.
struct PixelRow {
  alignas(64) std::array<float, kJungfrauWidth> photons;
  alignas(64) std::array<float, kJungfrauWidth> normal;  ///< mean 0, standard deviation 1
};

/// Means below this are drawn by vectors, as far as a quantile is below kLeftQuantile.
inline constexpr float kVectorMean = 12;
inline constexpr double kLeftQuantile = 1 - 0x1p-10;

/// Draws a row from the random words that Random gives in the state `state`, one a pixel, and names the columns without
/// photons: those of larger means, and one of 1024 others, whose quantile lies beyond kLeftQuantile. Every kind of
/// vectors gives the same bits: nothing is contracted, and no library's function is called. Photons are those of the
/// inversion with 24 bits of a quantile in single precision: a probability is wrong by 1e-6 at most.
void draw_row(std::uint64_t state, std::span<const float, kJungfrauWidth> means, PixelRow& out, Columns& left) noexcept;

/// Describes how pixels of one row answer in G0.
struct RowInG0 {
  const float* pedestal;                                   ///< ADU
  const float* gain;                                       ///< ADU/keV
  const float* noise;                                      ///< ADU
  const float* below_kev;                                  ///< a pixel with more is in another gain
  std::array<float, kJungfrauWidth / kJungfrauChip> chip;  ///< ADU that pixels of a chip have in common
  float photon_kev;
};

/// The words of pixels in G0, and the columns of those that are not, or have a word of `most_adu` or more.
void read_row_in_g0(const RowInG0& g0, const PixelRow& row, float most_adu,
                    std::span<std::uint16_t, kJungfrauWidth> out, Columns& left) noexcept;

}  // namespace rashpa::dataset
