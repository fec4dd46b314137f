// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/options.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/core/parameter.hpp"

namespace rashpa::link::verbs {

const Parameters<Options>& parameters() {
  static const auto declared =
      Parameters<Options>("link verbs")
          .add({.name = "transport",
                .doc = "uc: losses stand in the books. rc: the link repairs them. ud: of roce alone",
                .choices = {"uc", "rc", "ud"}},
               &Options::transport)
          .add({.name = "pmtu",
                .doc = "payload bytes of a packet at most; both ends the same",
                .allowed = {256, 512, 1024, 2048, 4096}},
               &Options::pmtu)
          .add(
              {.name = "packetisation",
               .doc = "only: a message is one packet; first_middle_last: lines that follow one another are one message",
               .choices = {"only", "first_middle_last"}},
              &Options::packetisation)
          .add({.name = "window_bytes",
                .doc = "most bytes in flight per DTP before news is needed, less when many DTPs share a socket; 0: no "
                       "window",
                .least = 0,
                .most = 1099511627776},
               &Options::window_bytes)
          .add({.name = "device", .doc = "name of the RNIC; empty for the one that has the address"}, &Options::device)
          .add({.name = "verify",
                .doc = "images of which the receiver compares the CRC32C; sampled: one in 16",
                .choices = {"all", "sampled", "off"}},
               &Options::verify)
          .add({.name = "paging",
                .doc = "pinned: images and frames stay in memory. on_demand: the RNIC asks for pages when it needs "
                       "them; needs rc",
                .choices = {"pinned", "on_demand"}},
               &Options::paging)
          .add({.name = "operation",
                .doc = "write: sources write images. read: receivers read them from the sources' memory; needs rc, "
                       "credits, and verbs at both ends",
                .choices = {"write", "read"}},
               &Options::operation);
  return declared;
}

void check(const Options& options) {
  check_pmtu("verbs", options.pmtu);
  if (options.transport == Transport::ud) throw ConfigError("verbs: transport ud has no RDMA WRITE; use uc or rc");
  if (options.paging == Paging::on_demand && options.transport != Transport::rc) {
    throw ConfigError("verbs: paging on_demand delays packets, and transport uc loses them; set transport = \"rc\"");
  }
  if (options.operation == Operation::read && options.transport != Transport::rc) {
    throw ConfigError("verbs: transport uc has no RDMA READ; set transport = \"rc\", or operation = \"write\"");
  }
  if (options.signal_every == 0 || options.send_depth < 2 * options.signal_every) {
    throw ConfigError(fmt::format("verbs: send_depth {} is less than twice signal_every {}; make it larger",
                                  options.send_depth, options.signal_every));
  }
}

void check(const Options& options, Flow flow) {
  check(options);
  if (options.operation == Operation::read && flow != Flow::credits) {
    throw ConfigError("verbs: with operation read a receiver counts in its credits; set flow = \"credits\"");
  }
}

}  // namespace rashpa::link::verbs
