#include "rashpa/link/verbs/options.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"

namespace rashpa::link::verbs {

void check(const Options& options) {
  check_pmtu("verbs", options.pmtu);
  if (options.transport == Transport::ud) throw ConfigError("verbs: transport ud has no RDMA WRITE; use uc or rc");
  if (options.signal_every == 0 || options.send_depth < 2 * options.signal_every) {
    throw ConfigError(fmt::format("verbs: send_depth {} must hold two of signal_every {} or more", options.send_depth,
                                  options.signal_every));
  }
}

}  // namespace rashpa::link::verbs
