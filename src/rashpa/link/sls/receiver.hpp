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
  std::uint16_t port = 0;     ///< UDP port of the detector's port 0; port p uses `port` + p; 0: any free ports
  std::uint32_t threads = 1;  ///< thread p mod threads serves port p
  Options options{};
  Poll poll = Poll::event;
  int first_processor = -1;     ///< thread i runs on processor first_processor + i; −1: any processor
  memory::GatherRoom gather{};  ///< of each port, where pixels lie in memory of a device
};

/// The destination side for detectors that send SLS datagrams: it writes pixels from the socket to their place in the
/// image. It sends nothing back, so flow is always paced.
class SlsReceiver final : public ThreadedReceiver, public Heading {
 public:
  /// Makes the receiver. The DTPs in order are the tiles of the detector's ports in order (packet_map.hpp), all of one
  /// size. There is one queue for each DTP. The memory, the queues and the bell must outlive the link. Pixels in memory
  /// of a device are gathered there. Throws ConfigError, or ResourceError when a port is in use.
  SlsReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
              ArrivalQueues& queues, Doorbell& bell);
  ~SlsReceiver() override;

  /// Returns the endpoint of each DTP. `qpn` is the place of the DTP's port, which the emulator's header needs.
  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Checks the number of senders; detectors do not announce themselves.
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
