#pragma once
/// The link contract within one process: a thread copies from source memory to the RASHPA buffer. Nothing is lost on
/// the way; it exists for tests, for small set-ups, and as the plainest form of the contract.
#include <memory>
#include <span>
#include <vector>

#include "rashpa/core/doorbell.hpp"
#include "rashpa/link/arrival_queue.hpp"

namespace rashpa::link {

/// `credits`: images are granted as slots are released; `paced`: all are granted, what finds no free slot is an
/// overrun.
enum class InprocFlow : std::uint8_t { credits, paced };

/// Destination side, one thread.
class InprocReceiver final : public ReceiverLink {
 public:
  /// The region, the queues and the bell must outlive the link. Throws ConfigError when a placement does not fit the
  /// region.
  InprocReceiver(std::span<std::byte> region, const std::vector<DestinationDtp>& dtps, ArrivalQueues& queues,
                 Doorbell& bell, InprocFlow flow = InprocFlow::credits);
  ~InprocReceiver() override;

  /// The source side of DTP `dtp` (index into the list); once each. Must not outlive the link.
  [[nodiscard]] std::unique_ptr<Sender> make_sender(std::uint32_t dtp);

  void start() override;
  void release(std::uint32_t dtp, std::uint64_t end) noexcept override;
  void close(std::uint32_t dtp, std::uint64_t end) noexcept override;
  void stop() noexcept override;
  [[nodiscard]] ReceiverStats stats() const noexcept override;

  struct Channel;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link
