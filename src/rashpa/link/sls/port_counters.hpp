// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/link/counters.hpp"

namespace rashpa::link::sls {

/// The counters of a thread that takes SLS datagrams.
struct PortCounters : ReceiverCounters {
  NamedCounter malformed{*this, "malformed"};  ///< datagrams with a wrong size, detector, or version of the header
  /// datagrams whose row or column belongs to another port than the first datagram here
  NamedCounter wrong_port{*this, "wrong_port"};
  NamedCounter wrong_number{*this, "wrong_number"};  ///< packets with a number that no frame has
  NamedCounter no_frame{*this, "no_frame"};  ///< packets that belong to no frame of the run: sent before it, or far off
  NamedCounter number_falls{*this, "number_falls"};  ///< times that a port's frame numbers restarted
  NamedCounter host_drops{*this, "host_drops"};      ///< datagrams for which a socket of this host had no room
};

}  // namespace rashpa::link::sls
