// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the CUDA kernel multiplies bytes with. A CRC32C without what is inverted at its beginning and end is linear:
/// its bits are sums modulo 2 of the message's bits, and so the matrix units' product of single bits makes it.
#include <array>
#include <cstddef>
#include <cstdint>

namespace rashpa::kernel::checksum::cuda {

inline constexpr std::uint32_t kRows = 16;       ///< of a tile
inline constexpr std::uint32_t kRowBytes = 256;  ///< consecutive
inline constexpr std::uint32_t kTileBytes = kRows * kRowBytes;
inline constexpr std::uint32_t kSteps = kRowBytes / 32;  ///< products of 256 bits for a row
inline constexpr std::uint32_t kQuarters = 4;            ///< of the 32 bits of a CRC: eight columns each
inline constexpr std::uint32_t kDigitBits = 11;
inline constexpr std::uint32_t kDigit = 1U << kDigitBits;
inline constexpr std::uint32_t kDigits = 3;  ///< a shift is one of less than 2^33 bytes

struct CrcTables {
  /// The right side of the products, as lanes hold it: word w of a lane is for words of the left side that lie 4 · w
  /// bytes behind its first.
  std::array<std::array<std::array<std::array<std::uint32_t, 32>, 2>, kQuarters>, kSteps> bytes{};
  /// That for the CRC of what came before, a tile ago.
  std::array<std::array<std::uint32_t, 32>, kQuarters> before{};
  /// Shifts by the rows that follow in a tile.
  std::array<std::uint32_t, kRows> row{};
  /// Shifts by i · 2048^digit bytes.
  std::array<std::array<std::uint32_t, kDigit>, kDigits> shift{};
};

/// Fills in all of it.
void make(CrcTables& tables) noexcept;

}  // namespace rashpa::kernel::checksum::cuda
