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
  /// The address of the source socket; a wildcard takes the address that routes to the destination. v1: the interface's
  /// GID with its scope, fe80::…%eth0.
  std::string bind_address = "127.0.0.1";
  Endpoint destination;  ///< endpoint of the receiver, from endpoints()
  Options options{};
  Flow flow = Flow::credits;
  std::uint32_t dtp = 0;            ///< id of the DTP
  std::uint64_t slots = 0;          ///< slots of the receiver; 0: credits are not bounded
  std::uint32_t events = 1;         ///< events of an image
  std::uint64_t images = 0;         ///< images of the run; the fate log has an entry for each
  std::uint64_t payload_bytes = 0;  ///< payload bytes of an image, for the fault model
  /// The listener for credits of an RNIC, shared by all DTPs of this address. Null: credits come to the sender's own
  /// socket, as a user-space receiver sends them.
  std::shared_ptr<CreditListener> credits{};
  std::optional<FaultConfig> faults{};  ///< faults to inject in packets, if any
  RcTimers timers{};                    ///< for rc
  /// The PSN of the first packet; none: a random PSN.
  std::optional<std::uint32_t> first_psn{};
};

/// The source side of one DTP: RDMA WRITE of UC or RC, or SEND of UD. It uses its own UDP socket (own source port) or
/// packet socket (framing v1).
/// With RC, poll() reports acknowledged writes as done, and pending() counts unacknowledged ones. A connection that has
/// used up its retries, or was refused, is in error, and nothing is sent any more. Writes are then accepted and
/// reported done at once, and all images are granted, so that the source reaches its end. send_errors counts all that
/// did not arrive.
class RoceSender : public Sender, public Answering, public Checksumming, public Injecting {};

/// Makes a sender of the type for its transport, with faults or without (transport_sender.hpp), so that packets need no
/// such choice. It takes all memory and the socket. Only this function throws: ConfigError or ResourceError.
std::unique_ptr<RoceSender> make_sender(const SenderConfig& config);

}  // namespace rashpa::link::roce
