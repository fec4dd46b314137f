// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/sls/header.hpp"
#include "rashpa/link/sls/options.hpp"

namespace rashpa::link::sls {

struct ReceiverConfig {
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 0;     ///< port p of the detector comes to UDP port `port` + p; 0: any free ports
  std::uint32_t threads = 1;  ///< port p is served by thread p mod threads
  Options options{};
  Poll poll = Poll::event;
  int first_processor = -1;  ///< thread i is bound to processor first_processor + i; −1: unbound
};

/// Destination side of detectors that send SLS datagrams: pixels go from the socket to their place in the image.
/// Nothing goes back to them: flow is paced, whatever is configured.
class SlsReceiver final : public ThreadedReceiver, public Heading {
 public:
  /// The DTPs in their order are the tiles of the detector's ports in theirs (packet_map.hpp), all of one size. One
  /// queue per DTP. The memory, the queues and the bell must outlive the link. Throws ConfigError, or ResourceError
  /// when a port is in use.
  SlsReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
              ArrivalQueues& queues, Doorbell& bell);
  ~SlsReceiver() override;

  /// `qpn`: the place of the DTP's port, which the emulator's header needs.
  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Detectors say nothing of themselves before they send.
  void connect(std::span<const Endpoint> senders) override { check_senders(senders.size()); }
  [[nodiscard]] bool sources_write() const noexcept override { return false; }
  [[nodiscard]] std::vector<Column> header_columns() const override { return sls::header_columns(); }

 private:
  struct Impl;
  SlsReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
              ArrivalQueues& queues, Doorbell& bell, std::uint32_t tiles);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::sls
