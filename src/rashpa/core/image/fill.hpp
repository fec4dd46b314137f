// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// The value of a lost pixel in a raw u16 image: the JUNGFRAU word "readout error", the maximum of the type. The
/// scheduler writes it into lines that did not arrive, so that no kernel can take a lost pixel for a measured one.
inline constexpr std::uint16_t kLostRaw = 0xFFFF;
/// The int16 photon value of a masked or lost pixel; kSaturatedPhotons is that of a saturated one. In keV, masked
/// pixels are NaN and saturated ones +inf.
inline constexpr std::int16_t kMaskedPhotons = INT16_MIN;
inline constexpr std::int16_t kSaturatedPhotons = INT16_MAX;

}  // namespace rashpa
