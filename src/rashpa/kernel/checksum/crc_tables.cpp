// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/checksum/crc_tables.hpp"

#include "rashpa/core/checksum.hpp"

namespace rashpa::kernel::checksum::cuda {

namespace {

constexpr std::uint32_t kOne = 1U << 31U;  // the coefficient of x^0

/// The CRCs of rows in which one bit alone is set, without what is inverted.
using Bits = std::array<std::array<std::uint32_t, 8>, kRowBytes>;

Bits crcs_of_bits() noexcept {
  Bits bits{};
  const Crc32cShift by_crc(4), by_byte(1);
  for (std::uint32_t bit = 0; bit < 8; ++bit) {
    // The last bit of a message is bit 7 of its last byte; behind it come the 32 of the CRC.
    std::uint32_t crc = by_crc(kOne >> (7 - bit));
    for (std::uint32_t byte = kRowBytes; byte-- > 0; crc = by_byte(crc)) bits[byte][bit] = crc;
  }
  return bits;
}

/// The four bytes of a row from `first` on, as they make bit `column` of its CRC.
std::uint32_t column_of(const Bits& bits, std::uint32_t first, std::uint32_t column) noexcept {
  std::uint32_t word = 0;
  for (std::uint32_t bit = 0; bit < 32; ++bit) word |= (bits[first + bit / 8][bit % 8] >> column & 1U) << bit;
  return word;
}

}  // namespace

void make(CrcTables& tables) noexcept {
  const Bits bits = crcs_of_bits();
  const Crc32cShift tile(kTileBytes);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t of_column = lane / 4, of_bytes = lane % 4;
    for (std::uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
      const std::uint32_t column = quarter * 8 + of_column;
      // A lane loads 16 bytes of a row at once, which two steps use; those of four lanes lie one behind the other.
      for (std::uint32_t step = 0; step < kSteps; ++step) {
        for (std::uint32_t word = 0; word < 2; ++word) {
          const std::uint32_t byte = step / 2 * 64 + of_bytes * 16 + step % 2 * 8 + word * 4;
          tables.bytes[step][quarter][word][lane] = column_of(bits, byte, column);
        }
      }
      std::uint32_t before = 0;
      for (std::uint32_t bit = 0; bit < 32; ++bit) {
        before |= (tile(1U << bit) >> column & 1U) << bit;
      }
      tables.before[quarter][lane] = of_bytes == 0 ? before : 0;
    }
  }
  for (std::uint32_t row = 0; row < kRows; ++row) {
    tables.row[row] = Crc32cShift(std::uint64_t{kRows - 1 - row} * kRowBytes).factor();
  }
  for (std::uint32_t digit = 0; digit < kDigits; ++digit) {
    const Crc32cShift next(std::uint64_t{1} << (digit * kDigitBits));
    std::uint32_t factor = kOne;
    for (std::uint32_t& one : tables.shift[digit]) {
      one = factor;
      factor = next(factor);
    }
  }
}

}  // namespace rashpa::kernel::checksum::cuda
