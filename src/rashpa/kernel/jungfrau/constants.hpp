// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers that the reference and the fast kernels share.
#include <cstddef>
#include <cstdint>

namespace rashpa::kernel::jungfrau {

inline constexpr std::size_t kGainStages = 3;  ///< G0, G1, G2: each has a pedestal and a gain
inline constexpr std::uint16_t kAduMask = 0x3FFF;
inline constexpr std::uint16_t kGainMask = 0xC000;
inline constexpr std::uint16_t kOverflow = 0xC000;          ///< of G2: saturated
inline constexpr std::uint16_t kReadoutErrorOnes = 0xFFFF;  ///< also what a lost pixel holds (core/image/fill.hpp)
inline constexpr std::uint16_t kReadoutErrorG1 = 0x4000;

inline constexpr float kLargestAdu = 16383.0F;        ///< pedestals of G0 above it are not valid
inline constexpr float kPedestalLimit = 16777216.0F;  ///< pedestals of any gain at or beyond it are not valid
inline constexpr float kSmallestPhotons = -32767.0F;  ///< INT16_MIN and INT16_MAX are taken by masked and saturated
inline constexpr float kLargestPhotons = 32766.0F;
inline constexpr std::uint32_t kMaskBits = 0xFFFF;  ///< of the NXmx pixel_mask that make a pixel invalid

/// An entry without valid calibration: (adu − 2^60) · 2^−45 is −32768 = INT16_MIN for every adu, exactly, so that the
/// fast path needs no mask.
inline constexpr float kMaskedPedestal = 0x1p60F;
inline constexpr float kMaskedFactor = 0x1p-45F;
inline constexpr float kMaskedAbove = 0x1p59F;

/// x + 1.5 · 2^23 rounds x to the nearest integer, ties to even, and holds it in its low 16 bits (for |x| < 2^22).
inline constexpr float kRoundingMagic = 12582912.0F;

}  // namespace rashpa::kernel::jungfrau
