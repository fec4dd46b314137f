// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The strips of images, one for each member of a unit, and the counts that members exchange.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/kernel/contract/strip.hpp"
#include "rashpa/unit/steps.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// Returns strips of about equal height, from the top. Each begins at a multiple of 64 pixels, which device threads
/// load, store and mark together. Throws ConfigError when the image has too few rows for `members`.
std::vector<kernel::Rows> strips_of(const Layout& whole, std::uint32_t members);

/// Returns the layout of a strip, with the place and distance of the whole images.
Layout strip_of(const Layout& whole, const kernel::Rows& rows);

/// The pipeline of a member.
struct StripPipeline {
  Pipeline pipeline;
  std::vector<std::vector<kernel::Bound>> bounds;  ///< by kernel
};

/// Cuts the pipeline for a strip; `pipeline` fits `whole`. Throws ConfigError that names a kernel that needs whole
/// images.
StripPipeline cut(const Pipeline& pipeline, const Layout& whole, const kernel::Rows& rows);

/// A point of the pipeline where members add up their columns, and sometimes decide.
struct Meeting {
  std::size_t behind = 0;               ///< number of steps before it
  std::size_t first = 0;                ///< columns [first, end) are summed
  std::size_t end = 0;                  ///< number of columns of all steps so far
  std::vector<kernel::Bound> bounds{};  ///< bounds of the last of those steps, whose own columns end at `end`
};

/// Returns the meetings for `steps` of a strip with their `bounds`: one before each decision, and one after the last
/// step for the rest. So the columns of all members become those of the whole image. At most one follows each step.
std::vector<Meeting> meetings_of(const Steps& steps, const std::vector<std::vector<kernel::Bound>>& bounds);

}  // namespace rashpa::unit
