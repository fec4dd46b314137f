// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/options.hpp"

#include "rashpa/core/parameter.hpp"

namespace rashpa::link::pcie {

const Parameters<Options>& parameters() {
  static const auto declared = Parameters<Options>("link pcie")
                                   .add({.name = "verify", .choices = {"all", "sampled", "off"}}, &Options::verify)
                                   .add({.name = "engine", .choices = {"cpu", "cuda"}}, &Options::engine)
                                   .add({.name = "engine_device", .least = 0, .most = 63}, &Options::engine_device);
  return declared;
}

}  // namespace rashpa::link::pcie
