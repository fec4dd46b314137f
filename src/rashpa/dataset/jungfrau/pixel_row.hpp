// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/dataset/jungfrau/jungfrau_calibration.hpp"

namespace rashpa::dataset {

/// Columns of a row that the vector code leaves to its caller.
struct Columns {
  [[nodiscard]] std::span<const std::uint32_t> seen() const noexcept { return {at.data(), count}; }
  std::array<std::uint32_t, kJungfrauWidth + 64> at;  ///< room for the last vector, which is stored whole
  std::size_t count = 0;
};

/// The random values for the pixels of one row of a module.
struct PixelRow {
  alignas(64) std::array<float, kJungfrauWidth> photons;
  alignas(64) std::array<float, kJungfrauWidth> normal;  ///< mean 0, standard deviation 1
};

/// The upper bound of means that vectors draw. Quantiles above kLeftQuantile are left to the caller.
inline constexpr float kVectorMean = 12;
inline constexpr double kLeftQuantile = 1 - 0x1p-10;

/// Draws a row from the random words of Random in state `state`, one a pixel. `left` gets the columns without photons:
/// those of larger means, and one of 1024 others, whose quantile is above kLeftQuantile. All instruction sets give the
/// same bits, as nothing is contracted and no library function is called. Photons come from the inversion with a 24-bit
/// quantile in single precision: probabilities are wrong by at most 1e-6.
void draw_row(std::uint64_t state, std::span<const float, kJungfrauWidth> means, PixelRow& out, Columns& left) noexcept;

/// The constants of the pixels of one row in G0.
struct RowInG0 {
  const float* pedestal;                                   ///< ADU
  const float* gain;                                       ///< ADU/keV
  const float* noise;                                      ///< ADU
  const float* below_kev;                                  ///< a pixel with more energy is in another gain
  std::array<float, kJungfrauWidth / kJungfrauChip> chip;  ///< ADU common to all pixels of a chip
  float photon_kev;
};

/// Writes the words of pixels in G0. `left` gets the columns in other gains, and those whose word is `most_adu` or
/// more.
void read_row_in_g0(const RowInG0& g0, const PixelRow& row, float most_adu,
                    std::span<std::uint16_t, kJungfrauWidth> out, Columns& left) noexcept;

}  // namespace rashpa::dataset
