// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Congestion notifications. A router marks packets on a full path (ECN), the destination answers with a CNP to the
/// source's queue pair, and the source counts them. This link has its window and its pace, and does not slow down.
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

/// The FECN bit in byte 4 of the BTH.
inline constexpr std::uint8_t kFecn = 0x80;
inline constexpr std::uint8_t kBecn = 0x40;

/// Returns true when `packet` (BTH … ICRC, already checked) is a congestion notification.
[[nodiscard]] bool is_congestion_notification(std::span<const std::byte> packet) noexcept;

/// Makes the notifications of one queue pair, at most one in 50 µs, as RNICs do. One thread.
class CongestionNotifier {
 public:
  static constexpr std::size_t kPacket = wire::kBth + 16 + wire::kIcrc;
  static constexpr std::int64_t kQuietNs = 50'000;

  /// Prepares notifications from `local` to queue pair `qpn` at `source`.
  CongestionNotifier(const wire::Address& local, const wire::Address& source, std::uint32_t qpn,
                     Framing framing) noexcept;

  /// Returns the bytes to send for a mark seen at `now`, with v1 the whole frame. Empty when the last notification is
  /// too recent.
  [[nodiscard]] std::span<const std::byte> packet(std::int64_t now) noexcept;
  [[nodiscard]] const wire::Address& to() const noexcept { return to_; }

 private:
  wire::Address to_;
  std::array<std::byte, wire::FrameHeader::kBytes + kPacket> packet_{};
  std::size_t front_ = 0;
  std::int64_t sent_ns_ = 0;
  bool any_ = false;
};

}  // namespace rashpa::link::roce
