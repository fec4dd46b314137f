// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "rashpa/link/link.hpp"
#include "rashpa/link/roce/faults/faults.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/roce/transports/rc_requester.hpp"

namespace rashpa::link::roce {

class CreditListener;

struct SenderConfig {
  /// The address of the source socket; a wildcard takes the one that routes to the destination. v1: the interface's GID
  /// with its scope, fe80::…%eth0.
  std::string bind_address = "127.0.0.1";
  Endpoint destination;  ///< from the receiver's endpoints()
  Options options{};
  Flow flow = Flow::credits;
  std::uint32_t dtp = 0;            ///< DTP id
  std::uint64_t slots = 0;          ///< of the receiver; 0: credits are not bounded
  std::uint64_t images = 0;         ///< of the run; the fate log has one entry each
  std::uint64_t payload_bytes = 0;  ///< of one image; sizes the fault model
  /// Listener for the credits of an RNIC, shared by all DTPs of this address. Null: they come to the sender's own
  /// socket, as a user-space receiver's do.
  std::shared_ptr<CreditListener> credits{};
  std::optional<FaultConfig> faults{};  ///< injected at packet level when given
  RcTimers timers{};                    ///< rc
  /// The PSN of the first packet; not given: a random one.
  std::optional<std::uint32_t> first_psn{};
};

/// Source side of one DTP: RDMA WRITE of UC or RC, or SEND of UD, over its own UDP socket (own source port) or
/// packet socket (framing v1).
///
/// With RC poll() reports a write done when it is acknowledged, and pending() counts what is not. A connection that has
/// used up its retries, or was refused, is in error: nothing is sent any more, writes are taken and reported done at
/// once, every image is granted, so that the source comes to its end, and all that did not arrive is counted as
/// send_errors.
class RoceSender : public Sender, public Answering, public Checksumming, public Injecting {};

/// One type for each transport, with faults or without (transport_sender.hpp), chosen here; nothing of that is decided
/// again for a packet. Takes all memory and the socket; throws ConfigError or ResourceError here and nowhere else.
std::unique_ptr<RoceSender> make_sender(const SenderConfig& config);

}  // namespace rashpa::link::roce
