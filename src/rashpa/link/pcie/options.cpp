// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/options.hpp"

#include "rashpa/core/parameter.hpp"

namespace rashpa::link::pcie {

const Parameters<Options>& parameters() {
  static const auto declared =
      Parameters<Options>("link pcie").add({.name = "verify", .choices = {"all", "sampled", "off"}}, &Options::verify);
  return declared;
}

}  // namespace rashpa::link::pcie
