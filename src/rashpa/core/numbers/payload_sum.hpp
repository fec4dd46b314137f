// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa {

/// A source's checksum of the part of an image that it has sent: the CRC32C of its lines in order, without the gaps
/// between them. Line i lies `first` + i · `pitch` bytes behind the image's first one.
struct PayloadSum {
  std::uint64_t first = 0;
  std::uint64_t pitch = 0;
  std::uint32_t line_bytes = 0;
  std::uint32_t lines = 0;
  std::uint32_t crc32c = 0;
  bool known = false;     ///< false: lines are lost, or no record has come
  bool compared = false;  ///< a link has compared it in memory that others can write: a reader of that compares again
};

/// Returns true when an image has parts that must be compared again.
[[nodiscard]] bool any_compared(std::span<const PayloadSum> sums) noexcept;

/// Returns true when all parts of an image that a link has compared have their CRC32C still, in its slot or in a copy
/// of all of it.
[[nodiscard]] bool still_agree(std::span<const PayloadSum> sums, const std::byte* pixels) noexcept;

}  // namespace rashpa
