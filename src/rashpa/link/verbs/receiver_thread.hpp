// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/event_handler.hpp"
#include "rashpa/link/arrivals/queue_output.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/file_sleep.hpp"
#include "rashpa/link/verbs/queue_pair.hpp"
#include "rashpa/link/verbs/reads.hpp"
#include "rashpa/link/verbs/receiver.hpp"

namespace rashpa::link::verbs {

/// Receiver counters with those of an RNIC's completions.
struct VerbsCounters : ReceiverCounters {
  NamedCounter malformed{*this, "malformed"};    ///< completions of another kind than a write with immediate
  NamedCounter unknown_qp{*this, "unknown_qp"};  ///< completions of a queue pair that is not ours
};

/// One thread of a VerbsReceiver, with its completion queue and the queue pairs of its DTPs.
class ReceiverThread final : public LinkThread {
 public:
  /// Creates the queues. `region` has the records; `lines` is the registration of the pixels. `ports` are the DTPs of
  /// this thread. Throws ResourceError.
  ReceiverThread(const ReceiverConfig& config, std::uint32_t number, const std::shared_ptr<Device>& device,
                 std::span<std::byte> region, const Registration& lines, const std::vector<EventDtp*>& ports,
                 ArrivalQueues& queues, Doorbell& bell, VerbsCounters& counters);
  ReceiverThread(const ReceiverThread&) = delete;
  ReceiverThread& operator=(const ReceiverThread&) = delete;

  /// Returns the queue pair number of the thread's DTP `position`.
  [[nodiscard]] std::uint32_t number_of(std::size_t position) const { return dtps_[position]->pair.number(); }
  [[nodiscard]] std::uint32_t first_psn_of(std::size_t position) const { return dtps_[position]->pair.first_psn(); }
  /// Connects the DTP to its `source`, to which its credits go. Call it before run().
  void connect(std::size_t position, const Endpoint& source);
  void run(const std::atomic<bool>& stop) noexcept override;
  void wake() noexcept override { sleep_.wake(); }

 private:
  struct ConnectedDtp {
    ConnectedDtp(std::shared_ptr<Device> device, const CompletionQueue& queue, const QueuePairConfig& config,
                 EventDtp& dtp)
        : pair(std::move(device), queue, config), port(&dtp) {}
    std::optional<Reads> reads;  // where sources only offer pixels; its memory goes after the pair
    QueuePair pair;
    EventDtp* port;
    std::optional<Endpoint> source;
    std::uint64_t words[2] = {0, 0};  // sent last: images granted, payload bytes received, or runs read
    std::int64_t sent_ns = 0;
    std::uint32_t in_flight = 0;  // credits
  };
  int take(std::int64_t now) noexcept;
  void complete(const ibv_wc& completion, std::int64_t now) noexcept;
  bool count_failure(ibv_wc_status status) noexcept;
  void complete_receive(ConnectedDtp& dtp, const ibv_wc& completion, std::int64_t now) noexcept;
  void complete_offered(ConnectedDtp& dtp, const ibv_wc& completion, std::int64_t now) noexcept;
  void decide_all(std::int64_t now, Taken taken) noexcept;
  void write_credits(std::int64_t now) noexcept;
  [[nodiscard]] ConnectedDtp* dtp_of(std::uint32_t qpn) noexcept;
  [[nodiscard]] bool something_changed() noexcept;

  ReceiverConfig config_;
  std::uint32_t number_;
  QueueOutput output_;
  VerbsCounters* counters_;
  EventHandler handler_;
  std::uint64_t most_completions_;
  CompletionQueue completions_;
  std::vector<std::unique_ptr<ConnectedDtp>> dtps_;
  FileSleep sleep_;
};

}  // namespace rashpa::link::verbs
