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
  NamedCounter bad_checksum{*this, "bad_checksum"};  ///< with engine xdp: datagrams with a wrong checksum of IP or UDP
  /// of host_drops: datagrams that AF_XDP had no memory for, or could not take for another reason
  NamedCounter xdp_dropped{*this, "xdp_dropped"};
  NamedCounter xdp_ring_full{*this, "xdp_ring_full"};  ///< of host_drops: datagrams whose port's ring was full
  /// with memory "device": packets lost because the device had all lists of packets, or had failed
  NamedCounter gather_full{*this, "gather_full"};
  NamedCounter gather_waits{*this, "gather_waits"};  ///< times that datagrams waited because the device had all buffers
  NamedCounter gather_drops{*this, "gather_drops"};  ///< of host_drops: datagrams dropped around such waits
  NamedCounter xdp_memory_empty{*this, "xdp_memory_empty"};  ///< times that a queue had no memory for a frame
};

}  // namespace rashpa::link::sls
