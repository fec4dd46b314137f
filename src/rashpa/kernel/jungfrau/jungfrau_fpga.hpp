// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Calibration as the processing unit in hardware reads it (rtl/unit).
#include <cstddef>
#include <vector>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau {

inline constexpr std::size_t kFpgaBlock = 2048;        ///< pixels that are converted with one load of calibration
inline constexpr std::size_t kFpgaLanes = 32;          ///< pixels a cycle
inline constexpr float kLargestFpgaFactor = 0x1p125F;  ///< photons/ADU; beyond it subnormal pedestals would count
inline constexpr std::size_t kFpgaBlockBytes = std::size_t{24} * 1024;  ///< of each half of the lanes

/// Of each block: gain 0, 1, 2; of each the 64 beats of 32 pixels; of each 16 pixels; of each pedestal in ADU and
/// factor in photons/ADU, float32. `low` has pixels 0 … 15 of each beat, `high` 16 … 31: they are read by ports of
/// their own. Pixels behind the image's end have no valid calibration.
struct FpgaTables {
  std::vector<float> low, high;
};

/// Of a calibration to photons. Throws ConfigError that names the pixel when a factor is larger than
/// kLargestFpgaFactor, or when the calibration makes keV.
FpgaTables fpga_tables(const Prepared& calibration);

}  // namespace rashpa::kernel::jungfrau
