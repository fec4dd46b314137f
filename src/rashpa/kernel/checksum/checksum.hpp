// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes the CRC32C of each image and compares its parts with their sources' checksums. See README.md.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::checksum {

/// The fate of an image with a part that differs from its source's checksum.
enum class OnMismatch : std::uint8_t {
  error,  ///< the image is errored
  veto,   ///< the image is vetoed with the reason "wrong_checksum"
};

struct Config {
  OnMismatch on_mismatch = OnMismatch::error;
};

struct Result {
  std::uint32_t crc32c = 0;    ///< CRC32C of the image, row by row
  std::uint32_t verified = 0;  ///< parts that agree with their sources
  std::uint32_t wrong = 0;     ///< parts that differ from their sources
  std::uint32_t first = 0;     ///< the first wrong part
};

/// The value of `first_wrong` when no image has a wrong part. A step keeps there the first wrong part of the first such
/// image, for its message.
inline constexpr std::uint32_t kNoneWrong = ~0U;
void settle(const Config& config, const Result& result, std::atomic<std::uint32_t>& first_wrong,
            Finding& finding) noexcept;
/// Returns why images failed, as CpuPass::failure() does.
std::string failure_of(const std::atomic<std::uint32_t>& first_wrong);

/// Makes a pipeline step.
std::shared_ptr<const Step> step_of(const Config& config);

/// Lines of an image: line i begins `first` + i · `pitch` bytes behind the image's first byte.
struct Lines {
  std::uint64_t first = 0;
  std::uint64_t pitch = 0;
  std::uint64_t line_bytes = 0;
  std::uint32_t lines = 0;
  [[nodiscard]] bool contiguous() const noexcept { return pitch == line_bytes || lines == 1; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return line_bytes * lines; }
};

/// Returns the CRC32C of these lines of an image, one after another.
std::uint32_t crc_of(std::span<const std::byte> image, const Lines& lines) noexcept;

/// Calls look(lines, joins, sum, part) for all lines of an image of `bytes` bytes that verify() needs; only the places
/// of the parts decide which. `joins` means that the lines follow the earlier joining ones in the image's own order.
/// `sum` is the source's checksum of these lines, or null.
template <typename Look>
void each_part(std::size_t bytes, std::span<const PayloadSum> sums, Look look) {
  // Parts that lie one behind the other, as modules of full width do, are read once for both.
  std::size_t joined = 0;
  for (std::size_t part = 0; part < sums.size(); ++part) {
    const PayloadSum& sum = sums[part];
    const Lines lines{sum.first, sum.pitch, sum.line_bytes, sum.lines};
    const bool within =
        sum.lines > 0 && sum.first + (sum.lines - 1U) * sum.pitch + sum.line_bytes <= bytes && sum.line_bytes > 0;
    const bool next = within && sum.first == joined && lines.contiguous();
    if (!within || (!sum.known && !next)) continue;
    if (next) joined += lines.bytes();
    look(lines, next, sum.known ? &sum : nullptr, static_cast<std::uint32_t>(part));
  }
  const std::uint64_t rest = bytes - joined;
  if (rest != 0) look(Lines{joined, rest, rest, 1}, true, nullptr, 0U);
}

/// Verifies an image of `bytes` bytes against its known checksums. `crc(lines)` returns the CRC32C of lines. Only the
/// places of the parts decide for which lines it is called, and in which order.
template <typename Crc>
Result verify(std::size_t bytes, std::span<const PayloadSum> sums, Crc crc) {
  Result result;
  bool joined = false;
  each_part(bytes, sums, [&](const Lines& lines, bool joins, const PayloadSum* sum, std::uint32_t part) {
    const std::uint32_t found = crc(lines);
    if (joins) result.crc32c = joined ? crc32c_combined(result.crc32c, found, lines.bytes()) : found;
    joined = joined || joins;
    if (sum == nullptr) return;
    if (found == sum->crc32c) {
      result.verified += 1;
    } else if (result.wrong++ == 0) {
      result.first = part;
    }
  });
  return result;
}

/// Verifies the image in memory.
Result verify(std::span<const std::byte> image, std::span<const PayloadSum> sums) noexcept;

}  // namespace rashpa::kernel::checksum
