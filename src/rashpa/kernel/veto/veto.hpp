// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A veto by a rule on the numbers of earlier steps. See README.md.
#include <memory>
#include <string>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::veto {

struct Config {
  std::string keep;    ///< condition on columns of earlier steps: rule.hpp
  std::string reason;  ///< veto reason of images for which it does not hold
};

/// Makes a pipeline step, which may occur several times. Throws ConfigError for errors that do not depend on earlier
/// steps.
std::shared_ptr<const Step> step_of(const Config& config);

}  // namespace rashpa::kernel::veto
