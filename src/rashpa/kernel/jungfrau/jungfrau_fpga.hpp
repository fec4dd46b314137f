// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Calibration as the processing unit in hardware reads it (rtl/unit).
#include <cstddef>

#include "rashpa/kernel/contract/fpga_tables.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau {

inline constexpr std::size_t kFpgaBlock = 2048;        ///< pixels that are converted with one load of calibration
inline constexpr std::size_t kFpgaLanes = 32;          ///< pixels a cycle
inline constexpr float kLargestFpgaFactor = 0x1p125F;  ///< photons/ADU; beyond it subnormal pedestals would count
inline constexpr std::size_t kFpgaBlockBytes = std::size_t{24} * 1024;  ///< of each half of the lanes

/// The tables of a calibration to photons. Throws ConfigError that names the pixel when a factor is larger than
/// kLargestFpgaFactor, or when the calibration makes keV.
FpgaTables fpga_tables(const Prepared& calibration);

}  // namespace rashpa::kernel::jungfrau
