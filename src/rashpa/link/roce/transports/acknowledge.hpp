// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Acknowledgements of Reliable Connected: their content, and the packets that transport them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/link/roce/options.hpp"
#include "rashpa/wire/address.hpp"
#include "rashpa/wire/frame_header.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/icrc.hpp"

namespace rashpa::link::roce {

/// Syndromes of the AETH. The upper three bits are the kind. The lower five are the credit count (31: no end-to-end
/// credits), the code of the RNR timer, or the reason.
namespace syndrome {
inline constexpr std::uint8_t kind = 0xE0;
inline constexpr std::uint8_t value = 0x1F;
inline constexpr std::uint8_t acknowledge = 0x00;
inline constexpr std::uint8_t acknowledge_without_credits = 0x1F;
inline constexpr std::uint8_t receiver_not_ready = 0x20;
inline constexpr std::uint8_t nak = 0x60;
inline constexpr std::uint8_t sequence_error = 0x60;
inline constexpr std::uint8_t invalid_request = 0x61;
inline constexpr std::uint8_t remote_access_error = 0x62;
}  // namespace syndrome

/// One acknowledgement, positive or negative.
struct Acknowledgement {
  std::uint32_t psn = 0;
  std::uint8_t syndrome = syndrome::acknowledge_without_credits;
  std::uint32_t msn = 0;  ///< number of completed messages, modulo 2^24
  friend bool operator==(const Acknowledgement&, const Acknowledgement&) = default;
};

/// Returns how long a requester waits after "receiver not ready" with this code, in ns, from the specification's table.
std::int64_t rnr_wait_ns(std::uint8_t code) noexcept;

/// Reads an acknowledgement whose ICRC was checked; returns false when the packet is none.
bool read_acknowledgement(const wire::Bth& bth, std::span<const std::byte> packet, Acknowledgement& out) noexcept;

/// Makes acknowledgement packets from one queue pair to another. One thread.
class AcknowledgementWriter {
 public:
  static constexpr std::size_t kPacket = wire::kBth + wire::kAeth + wire::kIcrc;
  static constexpr std::size_t kLongest = wire::FrameHeader::kBytes + kPacket;
  /// Sets the path from `local` (no wildcard) to queue pair `qpn` at address `to`.
  AcknowledgementWriter(const wire::Address& local, const wire::Address& to, std::uint32_t qpn,
                        Framing framing = Framing::v2);

  /// Returns the packet, with v1 the whole frame; valid until the next call.
  [[nodiscard]] std::span<const std::byte> packet(const Acknowledgement& acknowledgement) noexcept;
  [[nodiscard]] const wire::Address& to() const noexcept { return to_; }

 private:
  wire::Address to_;
  wire::IcrcPath path_;
  std::uint32_t qpn_;
  std::size_t front_ = 0;  // bytes of Ethernet header and GRH
  std::array<std::byte, kLongest> packet_{};
};

}  // namespace rashpa::link::roce
