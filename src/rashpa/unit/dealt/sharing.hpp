// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/unit/dealt/joiner.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// A pipeline that adds up over images, on several devices.
struct Sharing {
  Pipeline part;  ///< the steps of each: accumulations are parts
  Output output;  ///< the results of all together
  Joins joins;    ///< by accumulation; none: nothing is added up, and `part` is the pipeline
};

/// Throws ConfigError as steps_of(), and when a kernel cannot add up on several devices or learns from images.
Sharing sharing_of(const Pipeline& pipeline, const Layout& layout);

}  // namespace rashpa::unit
