// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/link/counters.hpp"

namespace rashpa::link::sls {

/// The counters of a thread that takes SLS datagrams.
struct PortCounters : ReceiverCounters {
  NamedCounter malformed{*this, "malformed"};    ///< wrong size, detector or version of the header
  NamedCounter wrong_port{*this, "wrong_port"};  ///< row or column are those of another port than the first one here
  NamedCounter wrong_number{*this, "wrong_number"};  ///< number of a packet that no frame has
  NamedCounter no_frame{*this, "no_frame"};          ///< of no frame of the run: sent before it, or far off
  NamedCounter number_falls{*this, "number_falls"};  ///< times that a port's frame numbers began again
  NamedCounter host_drops{*this, "host_drops"};      ///< datagrams that found no room in a socket of this host
};

}  // namespace rashpa::link::sls
