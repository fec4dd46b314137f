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
  std::shared_ptr<DescriptorRing> card;  ///< shared by all DTPs that it sends
  Endpoint destination;                  ///< from the receiver's endpoints()
  Options options{};
  std::string address;            ///< of the card, IPv4 or IPv6; of a simulated one: this machine's
  std::uint16_t credit_port = 0;  ///< to which the destination writes credits; 0: where packets come from
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  std::uint32_t dtp = 0;                ///< DTP id
  std::uint64_t slots = 0;              ///< of the receiver; 0: credits are not bounded
  std::uint64_t images = 0;             ///< of the run; the fate log has one entry each
  std::uint64_t payload_bytes = 0;      ///< of one image; sizes the fault model
  std::optional<FaultConfig> faults{};  ///< drop and corrupt, by a card that makes faults on order
};

/// Source side of one DTP: descriptors that a card carries out, one after the other. All DTPs of a card are made before
/// the first of them posts. Throws ConfigError, ResourceError or StateError in the constructor and nowhere else.
///
/// A card that stops, by an error or by somebody else's Abort, says why in the log. Nothing is sent any more then:
/// writes are taken and reported done at once, every image is granted, so that the source comes to its end. send_errors
/// counts the images that did not leave, and connection_errors the end itself. A write that no card takes (of 0 bytes,
/// or of more than largest_message()) is lost as if on the wire, counted, and named in the log.
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
