// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Constants of the reference and the fast kernels.
#include <cstddef>
#include <cstdint>

namespace rashpa::kernel::jungfrau {

inline constexpr std::size_t kGainStages = 3;  ///< number of gains: G0, G1, G2, each with a pedestal and a gain
inline constexpr std::uint16_t kAduMask = 0x3FFF;
inline constexpr std::uint16_t kGainMask = 0xC000;
inline constexpr std::uint16_t kOverflow = 0xC000;  ///< word of a pixel that is saturated in G2
/// word of a readout error, and fill value of a lost pixel (core/image/fill.hpp)
inline constexpr std::uint16_t kReadoutErrorOnes = 0xFFFF;
inline constexpr std::uint16_t kReadoutErrorG1 = 0x4000;

inline constexpr float kLargestAdu = 16383.0F;        ///< largest valid pedestal of G0
inline constexpr float kPedestalLimit = 16777216.0F;  ///< pedestals of any gain at or beyond it are invalid
/// smallest photon value; masked and saturated use INT16_MIN and INT16_MAX
inline constexpr float kSmallestPhotons = -32767.0F;
inline constexpr float kLargestPhotons = 32766.0F;
inline constexpr std::uint32_t kMaskBits = 0xFFFF;  ///< bits of the NXmx pixel_mask that make a pixel invalid

/// The pedestal of an entry without valid calibration: (adu − 2^60) · 2^−45 is exactly −32768 = INT16_MIN for each adu,
/// so the fast path needs no mask.
inline constexpr float kMaskedPedestal = 0x1p60F;
inline constexpr float kMaskedFactor = 0x1p-45F;
inline constexpr float kMaskedAbove = 0x1p59F;

/// A summand for rounding: x + 1.5 · 2^23 rounds x to the nearest integer, ties to even, and has it in its low 16 bits
/// (for |x| < 2^22).
inline constexpr float kRoundingMagic = 12582912.0F;

}  // namespace rashpa::kernel::jungfrau
