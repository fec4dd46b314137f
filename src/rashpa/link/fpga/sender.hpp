// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rashpa/core/log.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/fpga/options.hpp"
#include "rashpa/link/fpga/packet_faults.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/link/sending/credit_bound.hpp"

namespace rashpa::link::fpga {

class DescriptorRing;

struct SenderConfig {
  std::shared_ptr<DescriptorRing> card;  ///< shared by all DTPs of the card
  Endpoint destination;                  ///< endpoint of the receiver, from endpoints()
  Options options{};
  std::string address;            ///< IPv4 or IPv6 address of the card; for a simulated card: this machine's
  std::uint16_t credit_port = 0;  ///< port for credits from the destination; 0: the source port of packets
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  std::uint32_t dtp = 0;                ///< id of the DTP
  std::uint64_t slots = 0;              ///< slots of the receiver; 0: credits are not bounded
  std::uint64_t images = 0;             ///< images of the run; the fate log has an entry for each
  std::uint64_t payload_bytes = 0;      ///< payload bytes of an image, for the fault model
  std::optional<FaultConfig> faults{};  ///< drop and corrupt, for a card that injects faults on request
};

/// Sends one DTP by descriptors that a card carries out in order. All DTPs of a card are made before the first of them
/// posts. Only the constructor throws: ConfigError, ResourceError or StateError.
/// When a card stops, by an error or an Abort from elsewhere, the log gets the reason and nothing is sent any more.
/// Writes are then accepted and reported done at once, and all images are granted, so that the source reaches its end.
/// send_errors counts the unsent images, connection_errors the stop itself. A write that no card accepts (0 bytes, or
/// more than largest_message()) counts as lost on the wire, and the log names it.
class FpgaSender final : public Sender, public Answering, public Injecting {
 public:
  explicit FpgaSender(const SenderConfig& config);
  ~FpgaSender() override;
  FpgaSender(const FpgaSender&) = delete;
  FpgaSender& operator=(const FpgaSender&) = delete;

  [[nodiscard]] Endpoint endpoint() const override { return self_; }
  std::size_t post(std::span<const BufferDescriptor> writes) override;
  bool post_event(const Event& event) override;
  std::size_t poll(std::uint32_t wait_us) override;
  [[nodiscard]] std::size_t pending() const noexcept override;
  [[nodiscard]] std::uint64_t granted() const noexcept override { return granted_; }
  [[nodiscard]] Answers answers() const noexcept override { return {.in_error = ended_}; }
  [[nodiscard]] std::uint32_t largest_message() const noexcept override { return largest_message_; }
  [[nodiscard]] Counts stats() const override;
  [[nodiscard]] FaultCounts injected() const noexcept override { return faults_ ? faults_->counts() : FaultCounts{}; }
  [[nodiscard]] const Fates* fates() const noexcept override { return faults_ ? faults_->fates() : nullptr; }

 private:
  struct Counters : SenderCounters {
    NamedCounter connection_errors{*this, "connection_errors"};  ///< 1: the card has stopped
  };
  std::size_t post_good(std::span<const BufferDescriptor> writes);
  void refuse(const BufferDescriptor& write) noexcept;
  void count(std::uint32_t bytes) noexcept;
  void look() noexcept;

  SenderConfig config_;
  std::uint32_t largest_message_ = 0;
  Endpoint self_;
  std::uint32_t place_ = 0;
  bool ended_ = false;
  std::uint64_t writes_posted_ = 0, writes_done_ = 0;
  std::uint64_t events_posted_ = 0, events_done_ = 0;
  std::size_t done_ = 0;  // writes, not yet reported
  std::uint64_t granted_ = 0;
  Counters counters_;
  CreditBound credits_{config_.slots, counters_.credits_refused};
  std::optional<PacketFaults> faults_;
  log::Limiter refusals_;
};

}  // namespace rashpa::link::fpga
