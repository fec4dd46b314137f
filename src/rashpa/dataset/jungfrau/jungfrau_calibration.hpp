// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace rashpa::dataset {

/// A JUNGFRAU module is 512 × 1024 pixels, 2 × 4 chips of 256 × 256.
inline constexpr std::uint32_t kJungfrauHeight = 512;
inline constexpr std::uint32_t kJungfrauWidth = 1024;
inline constexpr std::uint32_t kJungfrauPixels = kJungfrauHeight * kJungfrauWidth;
inline constexpr std::uint32_t kJungfrauChip = 256;
inline constexpr std::uint32_t kJungfrauChips = 8;

/// Constants measured on PSI module M049 (medians and robust standard deviations), for synthetic modules. The noise of
/// G1 and G2 was not measured. It is assumed to be far below the Poisson noise at the charges of these gains.
struct JungfrauFacts {
  double pedestal_adu[3] = {2446, 13584, 14100};
  double pedestal_sigma_adu[3] = {216, 153, 167};
  double pedestal_correlation_g0 = 0.25;   ///< of G0 with G1 and G2 (measured 0.27 and 0.24)
  double pedestal_correlation_g12 = 0.98;  ///< of G1 with G2
  double gain_adu_per_kev[3] = {41.0, -1.450, -0.1156};
  double gain_sigma[3] = {0.026, 0.023, 0.019};  ///< relative, of the gains G0, G1, G2
  double noise_adu[3] = {23.9, 10, 10};
  double common_mode_adu = 14;                     ///< standard deviation in G0, one value for each chip and frame
  double to_g1_kev[2] = {12 * 12.4, 23 * 12.4};    ///< range of charges at which pixels leave G0
  double to_g2_kev[2] = {580 * 12.4, 660 * 12.4};  ///< range of charges at which pixels leave G1
  std::uint32_t always_g1 = 45;                    ///< pixels of a module that are always in G1
  std::uint32_t always_g2 = 2;
  std::uint32_t dead = 30;  ///< pixels of a module without a response; masked in the calibration
};

enum class PixelKind : std::uint8_t { normal = 0, always_g1 = 1, always_g2 = 2, dead = 3 };

/// The constants of one synthetic module. Arrays are row-major; [3] are the gains G0, G1, G2.
struct JungfrauModule {
  std::vector<float> pedestal;      ///< [3][512][1024] ADU
  std::vector<float> gain;          ///< [3][512][1024] ADU/keV; G1 and G2 negative
  std::vector<float> noise;         ///< [512][1024] ADU in G0
  std::vector<std::uint32_t> mask;  ///< [512][1024] bits of NXmx pixel_mask; dead pixels have bit 1
  std::vector<float> to_g1_kev;     ///< [512][1024] charge from which a pixel is in G1
  std::vector<float> to_g2_kev;     ///< [512][1024] charge from which a pixel is in G2
  std::vector<PixelKind> kind;      ///< [512][1024]
};

/// Returns the constants of module `module` of the detector with `seed`; the same on each call.
JungfrauModule make_jungfrau_module(std::uint64_t seed, std::uint32_t module, const JungfrauFacts& facts = {});

}  // namespace rashpa::dataset
