// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/credits/congestion.hpp"

#include <cstring>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::link::roce {

bool is_congestion_notification(std::span<const std::byte> packet) noexcept {
  return packet.size() == CongestionNotifier::kPacket && packet[0] == std::byte{wire::congestion_notification} &&
         (packet[4] & std::byte{kBecn}) != std::byte{0};
}

CongestionNotifier::CongestionNotifier(const wire::Address& local, const wire::Address& source, std::uint32_t qpn,
                                       Framing framing) noexcept
    : to_(source) {
  if (framing == Framing::v1) {
    wire::FrameHeader(local, source, wire::FrameHeader::Ecn::none).write(packet_.data(), kPacket);
    front_ = wire::FrameHeader::kBytes;
  }
  std::byte* const at = packet_.data() + front_;
  wire::store_bth(at, wire::congestion_notification, 0, qpn, 0);
  constexpr std::size_t kCovered = kPacket - wire::kIcrc;
  at[4] = std::byte{0xFF};
  const std::uint32_t icrc = crc32({at, kCovered}, wire::IcrcPath(local, source, framing).start(kPacket, 0));
  at[4] = std::byte{kBecn};
  std::memcpy(at + kCovered, &icrc, sizeof icrc);
}

std::span<const std::byte> CongestionNotifier::packet(std::int64_t now) noexcept {
  if (any_ && now - sent_ns_ < kQuietNs) return {};
  any_ = true;
  sent_ns_ = now;
  return std::span(packet_).first(front_ + kPacket);
}

}  // namespace rashpa::link::roce
