// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::bindings {

/// A kernel with its parameters, as Python hands it to a buffer.
struct ConfiguredKernel {
  std::shared_ptr<const kernel::Step> step;
};

}  // namespace rashpa::bindings
