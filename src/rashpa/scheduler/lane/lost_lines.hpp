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

/// The longest list of runs that a region of `lines` lines can have: every other line lost.
constexpr std::uint32_t most_lost_runs(std::uint32_t lines) noexcept { return (lines + 1) / 2; }

/// Lists the lines of `map` that did not arrive whole as runs of DTP `dtp`, ascending; returns how many runs there are.
/// `out` has room for most_lost_runs(map.lines()).
std::uint32_t list_lost_runs(const link::LineMap& map, std::uint32_t dtp, std::span<LostRun> out) noexcept;

/// Overwrites the lines of `run` in the image slot at `slot` with the type's lost value (core/image/lost_value.hpp: the
/// maximum of unsigned types, the minimum of signed ones, NaN), so that nothing downstream can take a lost pixel for a
/// measured one.
void fill_lost(std::byte* slot, const Placement& placement, PixelType type, const LostRun& run) noexcept;

/// Returns true when all of these lines have the lost value still.
[[nodiscard]] bool holds_lost(const std::byte* slot, const Placement& placement, PixelType type,
                              const LostRun& run) noexcept;

}  // namespace rashpa::scheduler
