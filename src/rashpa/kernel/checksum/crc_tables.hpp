// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The tables and factors of the CUDA kernel. A CRC32C without the inversions at its beginning and end is linear: the
/// share of a word does not depend on the others, and a shift is that of its bytes, summed modulo 2.
#include <array>
#include <cstddef>
#include <cstdint>

namespace rashpa::kernel::checksum::cuda {

inline constexpr std::uint32_t kRowBytes = 512;  ///< that a warp reads at once, 16 bytes a lane
inline constexpr std::uint32_t kDigitBits = 11;
inline constexpr std::uint32_t kDigit = 1U << kDigitBits;
inline constexpr std::uint32_t kDigits = 3;  ///< a shift is one of less than 2^33 bytes

struct CrcTables {
  /// The share of a byte of a CRC a row later: byte 2 · i + j of it, by [i][value][j].
  std::array<std::array<std::array<std::uint32_t, 2>, 256>, 2> row{};
  /// The share of four bits of a CRC four bytes later: bits 4 · i and those above, by [i][value].
  std::array<std::array<std::uint32_t, 16>, 8> word{};
  /// Shifts from the last word of a lane's 16 bytes to behind the row's CRC.
  std::array<std::uint32_t, 32> lane{};
  /// Shifts by i · 2048^digit bytes.
  std::array<std::array<std::uint32_t, kDigit>, kDigits> shift{};
};

/// Fills in all of it.
void make(CrcTables& tables) noexcept;

}  // namespace rashpa::kernel::checksum::cuda
