#pragma once
#include <optional>

#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// A pipeline that has been checked against a layout, in the form that the workers use.
struct Plan {
  std::optional<kernel::jungfrau::Prepared> conversion;
  std::optional<kernel::bragg_count::Config> veto;
  std::optional<kernel::csr::Config> compaction;
  kernel::jungfrau::Taps taps{};
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;
  PixelType output = PixelType::u16;
};

/// Throws ConfigError that names the kernel and what would be right.
Plan plan_of(const Pipeline& pipeline, const Layout& layout);

}  // namespace rashpa::unit
