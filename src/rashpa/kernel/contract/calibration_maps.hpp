// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "rashpa/core/image/region.hpp"
#include "rashpa/kernel/contract/strip.hpp"

namespace rashpa::kernel {

/// A part of a module and its place in the processed image.
struct ModulePart {
  std::uint32_t module = 0;
  Region source{};  ///< rectangle of the module
  std::uint32_t x = 0;
  std::uint32_t y = 0;
};

/// The calibration of all pixels of the detector, in the layout of the processed image.
struct CalibrationMaps {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<float> pedestal{};  ///< [3][height][width], ADU, gains G0, G1, G2
  std::vector<float> gain{};      ///< [3][height][width], ADU/keV; G1 and G2 negative
  /// [height][width] NXmx pixel_mask; a bit of 0xFFFF masks the pixel; empty: none is masked
  std::vector<std::uint32_t> mask{};
  std::vector<float> rms{};        ///< [height][width] ADU, RMS of the pedestal of G0; empty: unknown
  std::uint32_t module_width = 0;  ///< width of a whole module in pixels
  std::uint32_t module_height = 0;
  std::vector<ModulePart> parts{};  ///< empty: unknown
};

/// Returns the maps of some rows of the image, without its modules.
CalibrationMaps rows_of(const CalibrationMaps& maps, const Rows& rows);

}  // namespace rashpa::kernel
