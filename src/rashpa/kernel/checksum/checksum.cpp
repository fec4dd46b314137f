// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/checksum/checksum.hpp"

#include <fmt/core.h>

namespace rashpa::kernel::checksum {

std::uint32_t crc_of(std::span<const std::byte> image, const Lines& lines) noexcept {
  if (lines.contiguous()) return crc32c(image.subspan(lines.first, lines.bytes()));
  std::uint32_t crc = 0;
  for (std::uint32_t line = 0; line < lines.lines; ++line) {
    crc = crc32c(image.subspan(lines.first + line * lines.pitch, lines.line_bytes), crc);
  }
  return crc;
}

Result verify(std::span<const std::byte> image, std::span<const PayloadSum> sums) noexcept {
  return verify(image.size(), sums, [&](const Lines& lines) { return crc_of(image, lines); });
}

void settle(const Config& config, const Result& result, std::atomic<std::uint32_t>& first_wrong,
            Finding& finding) noexcept {
  finding.scalars[0] = Scalar::of_count(result.crc32c);
  finding.scalars[1] = Scalar::of_count(result.verified);
  if (result.wrong == 0) return;
  if (config.on_mismatch == OnMismatch::veto) {
    finding.verdict = 1;
    return;
  }
  finding.failed = true;
  std::uint32_t none = kNoneWrong;
  // relaxed: threads of the pass write, the pass reads after they have met
  first_wrong.compare_exchange_strong(none, result.first, std::memory_order_relaxed);
}

std::string failure_of(const std::atomic<std::uint32_t>& first_wrong) {
  // relaxed: threads of the pass write it, and the thread that reads has met all of them at the end of the pass
  const std::uint32_t part = first_wrong.load(std::memory_order_relaxed);
  if (part == kNoneWrong) return {};
  return fmt::format(
      "its pixels are not what the source has sent: the CRC32C of DTP {} of the buffer (counted from 0) is not the one "
      "of its frame record",
      part);
}

}  // namespace rashpa::kernel::checksum
