// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/event_handler.hpp"
#include "rashpa/link/arrivals/queue_output.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/pcie/control_block.hpp"
#include "rashpa/link/pcie/receiver.hpp"

namespace rashpa::link::pcie {

/// One DTP with the state of its receiving thread.
struct PolledDtp {
  EventDtp* port = nullptr;
  SharedDtp* shared = nullptr;
  std::uint32_t seen = 0;     ///< last value of the lock word
  std::uint64_t granted = 0;  ///< last value written to SharedDtp::granted
  std::uint64_t closed = 0;   ///< last value written to SharedDtp::closed
};

/// One thread of a PcieReceiver: polls the lock words of its DTPs and writes their credits.
class ReceiverThread final : public LinkThread {
 public:
  /// Initialises the lock words and credits of `dtps`.
  ReceiverThread(const ReceiverConfig& config, std::uint32_t number, std::span<const std::byte> region,
                 std::vector<PolledDtp> dtps, Thread& shared, ArrivalQueues& queues, Doorbell& bell,
                 ReceiverCounters& counters);

  void run(const std::atomic<bool>& stop) noexcept override;
  void wake() noexcept override { shared_->receiver.wake(); }

 private:
  bool serve(PolledDtp& dtp) noexcept;
  void grant(PolledDtp& dtp) noexcept;
  static void withdraw(PolledDtp& dtp, std::uint64_t closed) noexcept;
  [[nodiscard]] bool news() noexcept;

  ReceiverConfig config_;
  std::uint32_t number_;
  std::vector<PolledDtp> dtps_;
  Thread* shared_;
  QueueOutput output_;
  EventHandler handler_;
};

}  // namespace rashpa::link::pcie
