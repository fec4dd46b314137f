// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/unit/dealt/joiner.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// A pipeline that accumulates over images, for several devices.
struct Sharing {
  Pipeline part;  ///< steps of each device; accumulations are parts
  Output output;  ///< results of all devices together
  Joins joins;    ///< by accumulation; empty: nothing is accumulated, and `part` is the pipeline
};

/// Splits the pipeline. Throws ConfigError as steps_of(), and when a kernel cannot accumulate on several devices or
/// learns from images.
Sharing sharing_of(const Pipeline& pipeline, const Layout& layout);

}  // namespace rashpa::unit
