// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/checksum/checksum.hpp"

#include "rashpa/core/checksum.hpp"

namespace rashpa::kernel::checksum {

namespace {

bool lies_within(const PayloadSum& sum, std::size_t image_bytes) noexcept {
  return sum.lines > 0 && sum.first + (sum.lines - 1U) * sum.pitch + sum.line_bytes <= image_bytes;
}

bool is_contiguous(const PayloadSum& sum) noexcept { return sum.pitch == sum.line_bytes || sum.lines == 1; }

std::uint32_t crc_of(std::span<const std::byte> image, const PayloadSum& sum) noexcept {
  if (is_contiguous(sum)) return crc32c(image.subspan(sum.first, std::size_t{sum.line_bytes} * sum.lines));
  std::uint32_t crc = 0;
  for (std::uint32_t line = 0; line < sum.lines; ++line) {
    crc = crc32c(image.subspan(sum.first + line * sum.pitch, sum.line_bytes), crc);
  }
  return crc;
}

}  // namespace

Result verify(std::span<const std::byte> image, std::span<const PayloadSum> sums) noexcept {
  Result result;
  // Parts that lie one behind the other, as modules of full width do, are read once for both.
  std::size_t joined = 0;
  for (std::size_t part = 0; part < sums.size(); ++part) {
    const PayloadSum& sum = sums[part];
    if (!lies_within(sum, image.size())) continue;
    const bool next = sum.first == joined && is_contiguous(sum);
    if (!sum.known && !next) continue;
    const std::uint32_t crc = crc_of(image, sum);
    if (next) {
      const std::size_t bytes = std::size_t{sum.line_bytes} * sum.lines;
      result.crc32c = joined == 0 ? crc : crc32c_combined(result.crc32c, crc, bytes);
      joined += bytes;
    }
    if (!sum.known) continue;
    if (crc == sum.crc32c) {
      result.verified += 1;
    } else if (result.wrong++ == 0) {
      result.first = static_cast<std::uint32_t>(part);
    }
  }
  result.crc32c = crc32c(image.subspan(joined), result.crc32c);
  return result;
}

}  // namespace rashpa::kernel::checksum
