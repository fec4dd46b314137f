// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/link/counters.hpp"

namespace rashpa::link::roce {

/// The counters of a thread that handles packets.
struct PacketCounters : ReceiverCounters {
  NamedCounter icrc_exact{*this, "icrc_exact"};
  NamedCounter icrc_modulo_id{*this, "icrc_modulo_id"};
  NamedCounter icrc_bad{*this, "icrc_bad"};
  NamedCounter malformed{*this, "malformed"};  ///< packets that are not RoCE, or have a wrong length, P_Key or version
  NamedCounter unknown_qp{*this, "unknown_qp"};
  /// packets that are not from the connected address, or with ud not from its queue pair
  NamedCounter wrong_source{*this, "wrong_source"};
  NamedCounter empty_writes{*this, "empty_writes"};      ///< writes of 0 bytes: valid packets without effect
  NamedCounter sequence_drops{*this, "sequence_drops"};  ///< packets dropped by the responder's state machine
  NamedCounter acks{*this, "acks"};                      ///< for rc: acknowledgements sent
  NamedCounter acks_received{*this, "acks_received"};    ///< for rc: acknowledgements of credits by their sources
  NamedCounter naks{*this, "naks"};                      ///< for rc: negative acknowledgements, for gaps or refusals
  NamedCounter rnr_naks{*this, "rnr_naks"};              ///< for rc: answers "receiver not ready"
  NamedCounter sequence_gaps{*this, "sequence_gaps"};    ///< for ud: packets missing when a later one came
  NamedCounter ce_packets{*this, "ce_packets"};          ///< packets marked by a router: congestion experienced
  NamedCounter fecn_packets{*this, "fecn_packets"};      ///< packets marked in the BTH: forward congestion
  NamedCounter becn_packets{*this, "becn_packets"};      ///< packets marked in the BTH: backward congestion
  /// congestion notifications received, which only concern sources
  NamedCounter cnps_received{*this, "cnps_received"};
  /// with memory "device": packets lost because the device had all lists of packets, or had failed
  NamedCounter gather_full{*this, "gather_full"};
  NamedCounter gather_waits{*this, "gather_waits"};  ///< times that packets waited because the device had all buffers
  NamedCounter cnps_sent{*this, "cnps_sent"};        ///< congestion notifications sent to sources
};

}  // namespace rashpa::link::roce
