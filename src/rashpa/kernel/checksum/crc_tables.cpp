// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/checksum/crc_tables.hpp"

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::kernel::checksum::cuda {

void make(CrcTables& tables) noexcept {
  const Crc32cShift by_row(kRowBytes), by_word(4);
  for (std::uint32_t value = 0; value < 256; ++value) {
    for (std::uint32_t byte = 0; byte < 4; ++byte) {
      tables.row[byte / 2][value][byte % 2] = by_row(value << (8 * byte));
    }
  }
  for (std::uint32_t value = 0; value < 16; ++value) {
    for (std::uint32_t i = 0; i < tables.word.size(); ++i) tables.word[i][value] = by_word(value << (4 * i));
  }
  for (std::uint32_t lane = 0; lane < tables.lane.size(); ++lane) {
    tables.lane[lane] = Crc32cShift(kRowBytes - 16 * lane - 12).factor();
  }
  for (std::uint32_t digit = 0; digit < kDigits; ++digit) {
    constexpr std::uint32_t kOne = 1U << 31U;  // the coefficient of x^0
    const Crc32cShift next(std::uint64_t{1} << (digit * kDigitBits));
    std::uint32_t factor = kOne;
    for (std::uint32_t& one : tables.shift[digit]) {
      one = factor;
      factor = next(factor);
    }
  }
}

}  // namespace rashpa::kernel::checksum::cuda
