// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The calibration in the layout of the processing unit in hardware (rtl/unit).
#include <cstddef>

#include "rashpa/kernel/contract/fpga_tables.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau {

inline constexpr std::size_t kFpgaBlock = 2048;        ///< pixels for each load of calibration
inline constexpr std::size_t kFpgaLanes = 32;          ///< pixels in each cycle
inline constexpr float kLargestFpgaFactor = 0x1p125F;  ///< photons/ADU; above it, subnormal pedestals would matter
inline constexpr std::size_t kFpgaBlockBytes = std::size_t{24} * 1024;  ///< bytes of a block for each half of the lanes

/// Returns the tables of a calibration to photons. Throws ConfigError that names the pixel when a factor exceeds
/// kLargestFpgaFactor, or when the calibration makes keV.
FpgaTables fpga_tables(const Prepared& calibration);

}  // namespace rashpa::kernel::jungfrau
