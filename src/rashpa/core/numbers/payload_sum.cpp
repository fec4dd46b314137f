// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/numbers/payload_sum.hpp"

#include <algorithm>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa {

namespace {

std::uint32_t crc_of(const PayloadSum& sum, const std::byte* pixels) noexcept {
  const std::byte* first = pixels + sum.first;
  if (sum.lines == 1 || sum.pitch == sum.line_bytes) return crc32c({first, std::size_t{sum.line_bytes} * sum.lines});
  std::uint32_t crc = 0;
  for (std::uint32_t line = 0; line < sum.lines; ++line) crc = crc32c({first + line * sum.pitch, sum.line_bytes}, crc);
  return crc;
}

}  // namespace

bool any_compared(std::span<const PayloadSum> sums) noexcept {
  return std::any_of(sums.begin(), sums.end(), [](const PayloadSum& sum) { return sum.compared; });
}

bool still_agree(std::span<const PayloadSum> sums, const std::byte* pixels) noexcept {
  return std::all_of(sums.begin(), sums.end(),
                     [&](const PayloadSum& sum) { return !sum.compared || crc_of(sum, pixels) == sum.crc32c; });
}

}  // namespace rashpa
