// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/options.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/core/parameter.hpp"

namespace rashpa::link::verbs {

const Parameters<Options>& parameters() {
  static const auto declared =
      Parameters<Options>("link verbs")
          .add({.name = "transport", .choices = {"uc", "rc", "ud"}}, &Options::transport)
          .add({.name = "pmtu", .allowed = {256, 512, 1024, 2048, 4096}}, &Options::pmtu)
          .add({.name = "packetisation", .choices = {"only", "first_middle_last"}}, &Options::packetisation)
          .add({.name = "window_bytes", .least = 0, .most = 1099511627776}, &Options::window_bytes)
          .add({.name = "device"}, &Options::device)
          .add({.name = "verify", .choices = {"all", "sampled", "off"}}, &Options::verify);
  return declared;
}

void check(const Options& options) {
  check_pmtu("verbs", options.pmtu);
  if (options.transport == Transport::ud) throw ConfigError("verbs: transport ud has no RDMA WRITE; use uc or rc");
  if (options.signal_every == 0 || options.send_depth < 2 * options.signal_every) {
    throw ConfigError(fmt::format("verbs: send_depth {} must hold two of signal_every {} or more", options.send_depth,
                                  options.signal_every));
  }
}

}  // namespace rashpa::link::verbs
