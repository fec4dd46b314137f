// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The tables of a step for the processing unit in hardware (rtl/unit).
#include <vector>

namespace rashpa::kernel {

/// The calibration in the card's layout. For each block of 2048 pixels: gains 0, 1, 2; for each gain 64 beats of 32
/// pixels; for each pixel the pedestal in ADU and the factor in photons/ADU, float32. `low` has pixels 0 … 15 of each
/// beat, `high` 16 … 31, as the card reads them by two ports. Pixels behind the image's end have no valid calibration.
struct FpgaTables {
  std::vector<float> low, high;
};

}  // namespace rashpa::kernel
