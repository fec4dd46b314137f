// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/link/roce/transports/requester.hpp"
#include "rashpa/link/roce/transports/ud_responder.hpp"

namespace rashpa::link::roce {

/// The requester of Unreliable Datagram: SEND with a line header (schema/line_header.md); each packet is a whole
/// message.
class UdRequester final : public Unacknowledged {
 public:
  /// Creates the requester. `qpn` is our own queue pair, which each datagram names.
  UdRequester(std::uint32_t rkey, std::uint32_t qpn, std::uint64_t window_bytes) noexcept
      : Unacknowledged(window_bytes), deth_{qkey_of(rkey), qpn} {}

  void line(const Piece& piece, Outgoing& packet) const noexcept {
    packet.opcode = wire::ud_send_only;
    send(piece.destination, piece.bytes, wire::LineHeader::line, packet);
  }
  void event(const Event& event, Outgoing& packet) const noexcept {
    packet.opcode = wire::ud_send_only_imm;
    send(event.destination, static_cast<std::uint32_t>(FrameRecord::kBytes), wire::LineHeader::record, packet);
  }

 private:
  void send(std::uint64_t offset, std::uint32_t bytes, wire::LineHeader::Kind kind, Outgoing& packet) const noexcept {
    packet.has_deth = true;
    packet.deth = deth_;
    packet.line = {offset, bytes, kind};
  }
  wire::Deth deth_;
};

}  // namespace rashpa::link::roce
