// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is inside a RoceSender: one type for each transport, with faults or without, chosen when it is made; nothing of
/// that is decided again for a packet.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rashpa/link/link.hpp"
#include "rashpa/link/roce/sender.hpp"

namespace rashpa::link::roce {

/// As Sender has it.
class PacketSender {
 public:
  virtual ~PacketSender() = default;
  [[nodiscard]] virtual Endpoint endpoint() const = 0;
  virtual std::size_t post(std::span<const BufferDescriptor> writes) noexcept = 0;
  virtual bool post_event(const Event& event) noexcept = 0;
  virtual std::size_t poll(std::uint32_t wait_us) noexcept = 0;
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t granted() const noexcept = 0;
  [[nodiscard]] virtual Answers answers() const noexcept = 0;
  [[nodiscard]] virtual std::optional<std::uint32_t> payload_crc32c() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t largest_message() const noexcept = 0;
  [[nodiscard]] virtual Counts stats() const = 0;
  [[nodiscard]] virtual FaultCounts injected() const noexcept = 0;
  [[nodiscard]] virtual const Fates* fates() const noexcept = 0;
};

/// Takes all memory and the socket. Throws ConfigError or ResourceError.
std::unique_ptr<PacketSender> make_packet_sender(const SenderConfig& config);

}  // namespace rashpa::link::roce
