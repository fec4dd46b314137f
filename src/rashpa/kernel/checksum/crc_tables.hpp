// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The tables and factors of the CUDA kernel. Without its inversions at the beginning and the end, a CRC32C is linear.
/// So the contributions of words are independent, and a shift is the sum of its bytes' shifts modulo 2.
#include <array>
#include <cstddef>
#include <cstdint>

namespace rashpa::kernel::checksum::cuda {

inline constexpr std::uint32_t kRowBytes = 512;  ///< bytes that a warp reads at once, 16 for each lane
inline constexpr std::uint32_t kDigitBits = 11;
inline constexpr std::uint32_t kDigit = 1U << kDigitBits;
inline constexpr std::uint32_t kDigits = 3;  ///< digits of a shift, which is below 2^33 bytes

struct CrcTables {
  /// The contribution of a CRC byte to the CRC one row later: byte 2 · i + j, by [i][value][j].
  std::array<std::array<std::array<std::uint32_t, 2>, 256>, 2> row{};
  /// The contribution of four CRC bits to the CRC four bytes later: bits from 4 · i on, by [i][value].
  std::array<std::array<std::uint32_t, 16>, 8> word{};
  /// The shifts from the last word of a lane's 16 bytes to the end of the row.
  std::array<std::uint32_t, 32> lane{};
  /// The shifts by i · 2048^digit bytes.
  std::array<std::array<std::uint32_t, kDigit>, kDigits> shift{};
};

/// Fills all tables.
void make(CrcTables& tables) noexcept;

}  // namespace rashpa::kernel::checksum::cuda
