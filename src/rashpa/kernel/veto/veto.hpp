// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A rule on the numbers that steps before it have found. See README.md.
#include <memory>
#include <string>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::veto {

struct Config {
  std::string keep;    ///< condition on columns of steps before it: rule.hpp
  std::string reason;  ///< of the veto of images that it does not hold for
};

/// A step of a pipeline; it may come several times. Throws ConfigError for faults that do not depend on the steps
/// before it.
std::shared_ptr<const Step> step_of(const Config& config);

}  // namespace rashpa::kernel::veto
