// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/transports/ud_responder.hpp"

#include <algorithm>

namespace rashpa::link::roce {

UdVerdict UdResponder::receive(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& out) noexcept {
  using wire::LineHeader;
  const bool immediate = bth.opcode == wire::ud_send_only_imm;
  if (packet.size() < wire::kBth + wire::kIcrc || (!immediate && bth.opcode != wire::ud_send_only)) {
    return UdVerdict::malformed;
  }
  const auto body = packet.subspan(wire::kBth, packet.size() - wire::kBth - wire::kIcrc);
  const std::size_t headers = wire::kDeth + (immediate ? wire::kImmediate : 0);
  std::span<const std::byte> message;
  if (!wire::take_payload(bth, body, headers, message) || message.size() > pmtu_) return UdVerdict::malformed;
  const wire::Deth deth = wire::load_deth(body.data());
  if (deth.qkey != qkey_) return UdVerdict::refused;
  if (source_qpn_ && deth.source_qpn != *source_qpn_) return UdVerdict::stranger;
  // Only the peer's sequence numbers count.
  const std::uint64_t number = numbers_.extend(bth.psn);
  if (expected_ != 0 && number > expected_) gaps_ += number - expected_;
  expected_ = std::max(expected_, number + 1);
  if (message.size() < LineHeader::kBytes) return UdVerdict::malformed;
  const LineHeader header = wire::load_line_header(message.data());
  const std::span<const std::byte> payload = message.subspan(LineHeader::kBytes);
  if (header.version != LineHeader::kVersion || header.kind != (immediate ? LineHeader::record : plain_) ||
      header.bytes != payload.size() || payload.empty()) {
    return UdVerdict::malformed;
  }
  if (header.offset > region_bytes_ || header.bytes > region_bytes_ - header.offset) return UdVerdict::refused;
  out = {header.offset, payload, header.bytes, true, immediate, 0};
  if (immediate) out.immediate = wire::load_be<std::uint32_t>(body.data() + wire::kDeth);
  return UdVerdict::accepted;
}

}  // namespace rashpa::link::roce
