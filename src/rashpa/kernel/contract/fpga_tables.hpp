// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The tables of a step for the processing unit in hardware (rtl/unit).
#include <vector>

namespace rashpa::kernel {

/// Of each block of 2048 pixels: gain 0, 1, 2; of each the 64 beats of 32 pixels; of each 16 pixels; of each pedestal
/// in ADU and factor in photons/ADU, float32. `low` has pixels 0 … 15 of each beat, `high` 16 … 31: they are read by
/// ports of their own. Pixels behind the image's end have no valid calibration.
struct FpgaTables {
  std::vector<float> low, high;
};

}  // namespace rashpa::kernel
