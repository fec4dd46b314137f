// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "rashpa/core/image/region.hpp"
#include "rashpa/kernel/contract/strip.hpp"

namespace rashpa::kernel {

/// Describes which part of a module lies where in the image that is processed.
struct ModulePart {
  std::uint32_t module = 0;
  Region source{};  ///< of the module
  std::uint32_t x = 0;
  std::uint32_t y = 0;
};

/// The calibration of every pixel of the detector, in the layout of the image that is processed.
struct CalibrationMaps {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<float> pedestal{};      ///< [3][height][width], ADU, gains G0, G1, G2
  std::vector<float> gain{};          ///< [3][height][width], ADU/keV; G1 and G2 negative
  std::vector<std::uint32_t> mask{};  ///< [height][width], NXmx pixel_mask; a bit of 0xFFFF set: masked. Empty: nothing
  std::vector<float> rms{};           ///< [height][width], ADU, of the pedestal of G0. Empty: not known
  std::uint32_t module_width = 0;     ///< of a whole module
  std::uint32_t module_height = 0;
  std::vector<ModulePart> parts{};  ///< empty: not known
};

/// Returns the maps of some rows of the image, without its modules.
CalibrationMaps rows_of(const CalibrationMaps& maps, const Rows& rows);

}  // namespace rashpa::kernel
