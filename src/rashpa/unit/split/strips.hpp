// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Strips into which images are cut, one for each member of a unit, and the counts that the members exchange.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/kernel/contract/strip.hpp"
#include "rashpa/unit/steps.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// Strips of about equal height, from the top. Each begins at a multiple of 64 pixels, which threads of devices load,
/// store and mark together. Throws ConfigError when the image has too few rows for `members`.
std::vector<kernel::Rows> strips_of(const Layout& whole, std::uint32_t members);

/// The strips of the same images: they lie where those do, and as far apart.
Layout strip_of(const Layout& whole, const kernel::Rows& rows);

/// The work of a member.
struct StripPipeline {
  Pipeline pipeline;
  std::vector<std::vector<kernel::Bound>> bounds;  ///< by kernel
};

/// `pipeline` fits `whole`. Throws ConfigError that names the kernel that needs images in one piece.
StripPipeline cut(const Pipeline& pipeline, const Layout& whole, const kernel::Rows& rows);

/// A point of the pipeline where members add up their columns, and maybe decide.
struct Meeting {
  std::size_t behind = 0;               ///< number of steps that are done
  std::size_t first = 0;                ///< columns [first, end) are added up
  std::size_t end = 0;                  ///< of all steps so far
  std::vector<kernel::Bound> bounds{};  ///< of the last of those steps; its own columns end at `end`
};

/// `steps` of a strip with its `bounds`: before anything is decided, and behind the last step for the rest, so that the
/// columns of all members are those of the whole image. At most one behind each step.
std::vector<Meeting> meetings_of(const Steps& steps, const std::vector<std::vector<kernel::Bound>>& bounds);

}  // namespace rashpa::unit
