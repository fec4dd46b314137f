// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/options.hpp"

#include "rashpa/core/parameter.hpp"

namespace rashpa::link::pcie {

const Parameters<Options>& parameters() {
  static const auto declared =
      Parameters<Options>("link pcie")
          .add({.name = "verify",
                .doc = "images of which the receiver compares the CRC32C; sampled: one in 16",
                .choices = {"all", "sampled", "off"}},
               &Options::verify)
          .add({.name = "engine",
                .doc = "emulator: the engine that moves the bytes: each DTP's thread, or a GPU with the frames in its "
                       "memory",
                .choices = {"cpu", "cuda"}},
               &Options::engine)
          .add({.name = "engine_device", .doc = "emulator: number of the GPU of engine cuda", .least = 0, .most = 63},
               &Options::engine_device);
  return declared;
}

}  // namespace rashpa::link::pcie
