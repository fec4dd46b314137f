// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>

#include "rashpa/link/sending/credit_bound.hpp"
#include "rashpa/link/verbs/offered_run.hpp"
#include "rashpa/link/verbs/queue_pair.hpp"
#include "rashpa/link/verbs/sender.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::verbs {

/// The source side of one DTP of which the receiver reads the pixels (operation = read). post() sends only where runs
/// lie, in offers of up to kRunsOfOffer. The event is a write with immediate, behind all offers of its image. A run is
/// done when the receiver's second credit word counts it. The frames must be registered for reading by peers. The
/// constructor takes all memory and is the only function that throws: ConfigError or ResourceError.
class OfferSender final : public Sender {
 public:
  explicit OfferSender(const SenderConfig& config);

  [[nodiscard]] Endpoint endpoint() const override;
  std::size_t post(std::span<const BufferDescriptor> writes) override;
  bool post_event(const Event& event) override;
  std::size_t poll(std::uint32_t wait_us) override;
  /// Returns the offers and events on their way, and the runs that were not read yet.
  [[nodiscard]] std::size_t pending() const noexcept override;
  [[nodiscard]] std::uint64_t granted() const noexcept override;
  [[nodiscard]] std::uint32_t largest_message() const noexcept override { return largest_message_; }
  [[nodiscard]] Counts stats() const override;

 private:
  [[nodiscard]] std::uint64_t word(std::size_t number) const noexcept {
    return std::atomic_ref(reinterpret_cast<std::uint64_t*>(own_memory_.data())[number])
        .load(std::memory_order_acquire);  // acquire: the card writes it, the source reads what came before
  }
  [[nodiscard]] const Registration* block_of(const BufferDescriptor& write) const noexcept;
  [[nodiscard]] std::byte* offer(std::uint64_t number) const noexcept;
  bool offer_open_runs() noexcept;
  bool send(ibv_send_wr& request, ibv_sge piece) noexcept;
  void break_off() noexcept;
  void reap() noexcept;

  SenderConfig config_;
  std::shared_ptr<Device> device_;
  memory::Buffer own_memory_;  // credit words, the ring of records, the ring of offers
  std::unique_ptr<Registration> own_;
  CompletionQueue completions_;
  QueuePair pair_;
  std::uint32_t largest_message_;
  std::uint32_t open_ = 0;  // runs of the offer that is being filled
  std::uint64_t offers_posted_ = 0;
  std::uint64_t offers_completed_ = 0;
  std::uint64_t events_posted_ = 0;
  std::uint64_t events_completed_ = 0;
  std::uint64_t runs_ = 0;  // accepted so far
  std::uint64_t read_ = 0;  // of them, read or lost
  std::size_t done_ = 0;    // not yet reported
  bool broken_ = false;
  SenderCounters counters_;
  mutable CreditBound credits_{config_.slots, counters_.credits_refused};
};

}  // namespace rashpa::link::verbs
