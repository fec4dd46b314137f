// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/link/counters.hpp"

namespace rashpa::link::roce {

/// The counters of a thread that sees packets.
struct PacketCounters : ReceiverCounters {
  NamedCounter icrc_exact{*this, "icrc_exact"};
  NamedCounter icrc_modulo_id{*this, "icrc_modulo_id"};
  NamedCounter icrc_bad{*this, "icrc_bad"};
  NamedCounter malformed{*this, "malformed"};  ///< not a RoCE packet, wrong length, wrong P_Key or version
  NamedCounter unknown_qp{*this, "unknown_qp"};
  NamedCounter wrong_source{*this, "wrong_source"};  ///< not from the connected address; UD: nor from its queue pair
  NamedCounter empty_writes{*this, "empty_writes"};  ///< writes of no bytes: good packets that change nothing
  NamedCounter sequence_drops{*this, "sequence_drops"};  ///< dropped by the responder's state machine
  NamedCounter acks{*this, "acks"};                      ///< rc: acknowledgements sent
  NamedCounter acks_received{*this, "acks_received"};    ///< rc: of credits, by their sources
  NamedCounter naks{*this, "naks"};                      ///< rc: negative ones, for gaps or refusals
  NamedCounter rnr_naks{*this, "rnr_naks"};              ///< rc: "receiver not ready"
  NamedCounter sequence_gaps{*this, "sequence_gaps"};    ///< ud: packets missing at the moment a later one came
  NamedCounter ce_packets{*this, "ce_packets"};          ///< marked by a router: congestion experienced
  NamedCounter fecn_packets{*this, "fecn_packets"};      ///< marked in the BTH: forward congestion
  NamedCounter becn_packets{*this, "becn_packets"};      ///< marked in the BTH: backward congestion
  NamedCounter cnps_received{*this, "cnps_received"};    ///< congestion notifications, which are a source's business
  NamedCounter cnps_sent{*this, "cnps_sent"};            ///< congestion notifications sent to sources
};

}  // namespace rashpa::link::roce
