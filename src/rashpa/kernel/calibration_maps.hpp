// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace rashpa::kernel {

/// What is known of every pixel of the detector, in the layout of the image that is processed.
struct CalibrationMaps {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<float> pedestal{};      ///< [3][height][width], ADU, gains G0, G1, G2
  std::vector<float> gain{};          ///< [3][height][width], ADU/keV; G1 and G2 negative
  std::vector<std::uint32_t> mask{};  ///< [height][width], NXmx pixel_mask; a bit of 0xFFFF set: masked. Empty: nothing
};

}  // namespace rashpa::kernel
