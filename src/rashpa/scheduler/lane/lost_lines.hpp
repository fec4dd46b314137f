// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/placement.hpp"
#include "rashpa/link/line_map.hpp"

namespace rashpa::scheduler {

/// Returns the longest list of runs for a region of `lines` lines, in which every other line is lost.
constexpr std::uint32_t most_lost_runs(std::uint32_t lines) noexcept { return (lines + 1) / 2; }

/// Writes the incomplete lines of `map` as runs of DTP `dtp`, ascending, and returns their number. `out` has room for
/// most_lost_runs(map.lines()).
std::uint32_t list_lost_runs(const link::LineMap& map, std::uint32_t dtp, std::span<LostRun> out) noexcept;

/// Overwrites the lines of `run` in the image slot at `slot` with the type's lost value, so that no later stage takes a
/// lost pixel for a measured one. The lost value (core/image/lost_value.hpp) is the maximum of unsigned types, the
/// minimum of signed ones, or NaN.
void fill_lost(std::byte* slot, const Placement& placement, PixelType type, const LostRun& run) noexcept;

/// Returns true while all these lines have the lost value.
[[nodiscard]] bool holds_lost(const std::byte* slot, const Placement& placement, PixelType type,
                              const LostRun& run) noexcept;

}  // namespace rashpa::scheduler
