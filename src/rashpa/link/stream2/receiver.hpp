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
  std::string bind_address = "127.0.0.1";  ///< for emulators only: a receiver connects, and listens nowhere
  std::uint32_t threads = 2;               ///< the first thread reads, the others unpack; at least one unpacks
  Options options{};
  Poll poll = Poll::event;
  int first_processor = -1;  ///< as for other links; with one thread, the unpacking thread is not bound
};

/// The destination side of detectors that send a stream of messages: it connects to their sockets and unpacks images to
/// their places. Unread messages wait at the sender, so that no image is lost for lack of a slot.
class Stream2Receiver final : public ThreadedReceiver, public Describing, public Heading {
 public:
  /// Makes the receiver. DTP d is the whole image of channel `module`. There is one queue for each DTP. The memory, the
  /// queues and the bell must outlive the link. Throws ConfigError or ResourceError.
  Stream2Receiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
                  ArrivalQueues& queues, Doorbell& bell);
  ~Stream2Receiver() override;

  /// Returns the addresses for the emulator. `qpn` has the lines, `rkey` the bytes of a line, `psn` the type of pixels.
  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Connects to the senders. A sender with a port is an emulator; any other is the detector at the address of the
  /// options.
  void connect(std::span<const Endpoint> senders) override;
  [[nodiscard]] bool sources_write() const noexcept override { return false; }
  [[nodiscard]] std::vector<std::string> descriptions() const override;
  /// Returns the columns of the words of each image's record: for sls those of the header, for others the exposure.
  [[nodiscard]] std::vector<Column> header_columns() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::stream2
