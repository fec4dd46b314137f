// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/link/pcie/control_block.hpp"
#include "rashpa/link/pcie/copy_engine.hpp"
#include "rashpa/link/pcie/cpu_engine.hpp"
#include "rashpa/link/sending/credit_bound.hpp"

namespace rashpa::link::pcie {

struct SenderConfig {
  std::shared_ptr<const RemoteMemory> memory;  ///< the opened control block of `destination`
  Endpoint destination;                        ///< endpoint of the receiver, from endpoints()
  Flow flow = Flow::credits;
  Poll poll = Poll::event;  ///< way of waiting for credits
  std::uint64_t slots = 0;  ///< slots of the receiver; 0: credits are not bounded
};

/// Returns a sender's config after checks. Throws ConfigError when the destination does not belong to its memory.
const SenderConfig& checked(const SenderConfig& config);
/// Returns the region into which the processor writes. Throws ConfigError as checked(), and where lines lie in an
/// accelerator's memory.
std::span<std::byte> host_region(const SenderConfig& config);

/// The source side of one DTP. Its engine (engine.hpp) writes lines into the receiver's buffer, then the record, then
/// the lock word. The engine's type is a template argument, which saves virtual calls. A call gives the engine a few
/// MiB at most, so that its caller can stop soon.
/// A write out of the buffer's bounds is counted in `send_errors` and skipped, and the event of its image is withheld.
/// For an image that the receiver no longer awaits, nothing more is written, and no event.
template <typename EngineType>
class SenderWith final : public Sender, public ImageAware, public Answering, public Checksumming {
 public:
  /// Creates a sender with an engine that writes by the processor. Throws ConfigError when the destination does not
  /// belong to `memory`, or the processor cannot write there.
  template <std::constructible_from<std::span<std::byte>> Made = EngineType>
  explicit SenderWith(const SenderConfig& config) : SenderWith(config, Made(host_region(config))) {}
  /// Creates a sender with an engine that writes into `memory`, wherever its lines lie.
  SenderWith(const SenderConfig& config, EngineType engine);

  /// Returns the endpoint of its receiver and DTP; the receiver writes nothing back to it.
  [[nodiscard]] Endpoint endpoint() const override { return config_.destination; }

  void begin(std::uint64_t index) override;
  std::size_t post(std::span<const BufferDescriptor> writes) override;
  bool post_event(const Event& event) override;
  std::size_t poll(std::uint32_t wait_us) override;
  [[nodiscard]] std::size_t pending() const noexcept override { return engine_.pending(); }
  [[nodiscard]] std::uint64_t granted() const noexcept override;
  [[nodiscard]] Answers answers() const noexcept override { return {.in_error = engine_.failed()}; }
  [[nodiscard]] std::uint32_t largest_message() const noexcept override { return 1U << 20; }
  [[nodiscard]] Counts stats() const override;
  [[nodiscard]] bool makes_payload_crc32c() const noexcept override { return engine_.makes_crc32c(); }
  [[nodiscard]] std::optional<std::uint32_t> payload_crc32c() const noexcept override { return engine_.crc32c(); }

 private:
  [[nodiscard]] bool given_up() noexcept;
  [[nodiscard]] bool inside(const BufferDescriptor& write) const noexcept;
  std::size_t collect() noexcept;
  void wait_for_credit(std::uint32_t wait_us) noexcept;
  std::size_t wait_for_engine(std::uint32_t wait_us) noexcept;

  SenderConfig config_;
  std::uint64_t line_bytes_;    // offsets of lines stay below …
  std::uint64_t record_bytes_;  // … and those of records
  SharedDtp* shared_;
  Thread* thread_;
  EngineType engine_;
  std::size_t done_ = 0;            // writes done, or never seen by the engine, and not yet reported
  bool withhold_ = false;           // a write of this image was refused
  bool begun_ = false;              // an image is in hand …
  std::uint64_t image_ = 0;         // … and its index
  bool given_up_ = false;           // the receiver does not wait for it
  mutable std::uint64_t told_ = 0;  // the word of credits that the caller knows
  SenderCounters counters_;
  mutable CreditBound credits_;
};

using PcieSender = SenderWith<CpuEngine>;
extern template class SenderWith<CpuEngine>;
using PcieCopySender = SenderWith<CopyEngine>;
extern template class SenderWith<CopyEngine>;

}  // namespace rashpa::link::pcie
