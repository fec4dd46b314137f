// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "rashpa/core/image/placement.hpp"

namespace rashpa {

/// The division of an image's lines into runs that are contiguous at both ends. Software and tables of cards both make
/// their descriptors by it.
struct Runs {
  std::uint32_t lines_per_run = 1;  ///< merged lines of a run; the last run of an image may have fewer
  std::uint32_t piece = 0;          ///< bytes of each piece of a line that is longer than a message; 0: lines fit
};

/// Divides the lines of an image into runs of at most `largest_message` bytes. Lines that are contiguous at both ends
/// are merged as whole lines; `source_pitch` is the distance of lines at the source in bytes. A longer line is cut into
/// pieces of `largest_message` bytes. `largest_message` and line_bytes are not 0.
constexpr Runs runs_of(const Placement& placement, std::uint64_t source_pitch, std::uint32_t largest_message) noexcept {
  if (placement.line_bytes > largest_message) return {.piece = largest_message};
  const bool contiguous = (source_pitch == placement.line_bytes || placement.lines == 1) && placement.contiguous();
  if (!contiguous) return {};
  return {.lines_per_run = std::clamp(largest_message / placement.line_bytes, 1U, placement.lines)};
}

}  // namespace rashpa
