// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "rashpa/core/image/placement.hpp"

namespace rashpa {

/// Describes how the lines of an image become runs that are contiguous at both ends. Makers of descriptors, in software
/// or in a card's table, makes them by this.
struct Runs {
  std::uint32_t lines_per_run = 1;  ///< merged lines; the last run of an image may have fewer
  std::uint32_t piece = 0;          ///< bytes of a piece of a line that does not fit a message; 0: lines fit
};

/// Consecutive lines that are contiguous at the source, whose lines lie `source_pitch` bytes apart, and at the
/// destination are merged up to `largest_message`, whole lines only; a line longer than that is cut into pieces of
/// `largest_message` bytes. `largest_message` and line_bytes are not 0.
constexpr Runs runs_of(const Placement& placement, std::uint64_t source_pitch, std::uint32_t largest_message) noexcept {
  if (placement.line_bytes > largest_message) return {.piece = largest_message};
  const bool contiguous = (source_pitch == placement.line_bytes || placement.lines == 1) && placement.contiguous();
  if (!contiguous) return {};
  return {.lines_per_run = std::clamp(largest_message / placement.line_bytes, 1U, placement.lines)};
}

}  // namespace rashpa
