// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa {

/// A source's checksum of its part of an image: the CRC32C of the lines in order, without the gaps between them. Line i
/// begins `first` + i · `pitch` bytes behind the image's first byte.
struct PayloadSum {
  std::uint64_t first = 0;
  std::uint64_t pitch = 0;
  std::uint32_t line_bytes = 0;
  std::uint32_t lines = 0;
  std::uint32_t crc32c = 0;
  bool known = false;  ///< false: lines are lost, or no record came
  /// a link has compared it in memory that others can write, so a reader of that memory compares again
  bool compared = false;
};

/// Returns true when the image has parts that a reader must compare again.
[[nodiscard]] bool any_compared(std::span<const PayloadSum> sums) noexcept;

/// Returns true when all parts that a link has compared still have their CRC32C in `pixels`, the slot or a copy of the
/// whole image.
[[nodiscard]] bool still_agree(std::span<const PayloadSum> sums, const std::byte* pixels) noexcept;

}  // namespace rashpa
