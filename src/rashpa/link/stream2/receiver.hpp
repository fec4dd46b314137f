// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/stream2/options.hpp"

namespace rashpa::link::stream2 {

struct ReceiverConfig {
  std::string bind_address = "127.0.0.1";  ///< for emulators alone: a receiver connects, and listens nowhere
  std::uint32_t threads = 2;               ///< the first one reads, the others unpack; one unpacks in any case
  Options options{};
  Poll poll = Poll::event;
  int first_processor = -1;  ///< as of other links; of one thread, that which unpacks is not bound
};

/// Destination side of detectors that send a stream of messages: it connects to their sockets, and unpacks images to
/// their places. Unread messages wait at the sender, so that no image is lost for want of a slot.
class Stream2Receiver final : public ThreadedReceiver, public Describing {
 public:
  /// DTP d is the whole image of channel `module`. One queue per DTP. The memory, the queues and the bell must outlive
  /// the link. Throws ConfigError or ResourceError.
  Stream2Receiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
                  ArrivalQueues& queues, Doorbell& bell);
  ~Stream2Receiver() override;

  /// The addresses for the emulator: `qpn` holds lines, `rkey` the bytes of a line, `psn` the type of pixels.
  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// A sender with a port is an emulator's; others are the detector at the address of the options.
  void connect(std::span<const Endpoint> senders) override;
  [[nodiscard]] bool sources_write() const noexcept override { return false; }
  [[nodiscard]] std::vector<std::string> descriptions() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::stream2
