// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The link contract within one process: a thread copies from source memory to the RASHPA buffer without losses. It
/// serves tests and small set-ups, and is the simplest form of the contract.
#include <memory>
#include <span>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrival_queue.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"

namespace rashpa::link {

/// The destination side, with one thread.
class InprocReceiver final : public Receiver {
 public:
  /// Checks the placements. The memory (host, one block), the queues and the bell must outlive the link. Throws
  /// ConfigError when a placement does not fit the memory.
  InprocReceiver(const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                 Doorbell& bell, Flow flow = Flow::credits);
  ~InprocReceiver() override;

  /// Makes the sender of DTP `dtp` (index into the list), once for each. The link must outlive it.
  [[nodiscard]] std::unique_ptr<Sender> make_sender(std::uint32_t dtp);

  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Does nothing, since senders know their receiver.
  void connect(std::span<const Endpoint> senders) override;
  void start() override;
  void release(std::uint32_t dtp, std::uint64_t end) noexcept override;
  void close(std::uint32_t dtp, std::uint64_t end) noexcept override;
  [[nodiscard]] bool sources_write() const noexcept override { return false; }
  void stop() noexcept override;
  [[nodiscard]] Counts stats() const override;

  struct Channel;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link
