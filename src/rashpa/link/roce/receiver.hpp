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
  std::string bind_address = "127.0.0.1";  ///< for v1: the interface's GID with its scope, fe80::…%eth0
  std::uint16_t port = 0;                  ///< for v2: thread i listens on port + i; 0: any free ports
  std::uint32_t threads = 1;               ///< thread d mod threads serves DTP d
  Options options{};
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  int first_processor = -1;  ///< thread i runs on processor first_processor + i; −1: any processor
};

/// The destination side: user-space RoCE over UDP or packet sockets (Options::icrc, framing), which writes into the
/// registered region.
class RoceReceiver : public ThreadedReceiver, public Parted {
 public:
  /// Makes the receiver. `memory`, one block of host memory, is registered at iova 0 under a random key; placements
  /// must lie inside it. Where lines lie in memory of a device, use GatheredRoceReceiver. There is one queue for each
  /// DTP. The memory, the queues and the bell must outlive the link. Throws ConfigError, or ResourceError when a port
  /// is in use.
  RoceReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
               ArrivalQueues& queues, Doorbell& bell);
  ~RoceReceiver() override;

  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Connects the senders, which get credits from then on. Packets from other addresses are then refused.
  void connect(std::span<const Endpoint> senders) override;
  [[nodiscard]] bool sources_write() const noexcept override { return false; }
  [[nodiscard]] PartProgress progress(std::uint32_t dtp) const noexcept override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same with lines in memory of a device, into which packets are gathered. One key covers both blocks: for sources
/// the records begin behind the lines.
class GatheredRoceReceiver final : public RoceReceiver, public Registering {
 public:
  GatheredRoceReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
                       ArrivalQueues& queues, Doorbell& bell);
  [[nodiscard]] std::uint64_t base() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t base_of_records() const noexcept override { return records_at_; }
  [[nodiscard]] std::string registration() const override { return "records behind lines, under one key"; }

 private:
  std::uint64_t records_at_;
};

}  // namespace rashpa::link::roce
