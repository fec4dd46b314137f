// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/roce/options.hpp"

namespace rashpa::link::roce {

struct ReceiverConfig {
  std::string bind_address = "127.0.0.1";  ///< v1: the interface's GID with its scope, fe80::…%eth0
  std::uint16_t port = 0;                  ///< v2: thread i listens on port + i; 0: any free ports
  std::uint32_t threads = 1;               ///< DTP d is served by thread d mod threads
  Options options{};
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  int first_processor = -1;  ///< thread i is bound to processor first_processor + i; −1: unbound
};

/// Destination side: user-space RoCE over UDP or packet sockets (Options::icrc, framing), straight into the registered
/// region.
class RoceReceiver final : public ThreadedReceiver {
 public:
  /// `memory`, one block of the host's, is registered at iova 0 under a random key; placements must lie inside it. One
  /// queue per DTP. The memory, the queues and the bell must outlive the link. Throws ConfigError, or ResourceError
  /// when a port is in use.
  RoceReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
               ArrivalQueues& queues, Doorbell& bell);
  ~RoceReceiver() override;

  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Needed for credits; packets from other addresses are then refused.
  void connect(std::span<const Endpoint> senders) override;
  [[nodiscard]] bool sources_write() const noexcept override { return false; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::roce
