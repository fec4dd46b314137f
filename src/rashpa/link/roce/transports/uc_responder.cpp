// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/transports/uc_responder.hpp"

namespace rashpa::link::roce {

UcVerdict UcResponder::receive(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& out) noexcept {
  if (packet.size() < wire::kBth + wire::kIcrc) return UcVerdict::malformed;
  const auto body = packet.subspan(wire::kBth, packet.size() - wire::kBth - wire::kIcrc);
  switch (bth.opcode) {
    case wire::write_first:
    case wire::write_only:
    case wire::write_only_imm:
      return start(bth, body, out);
    case wire::write_middle:
    case wire::write_last:
    case wire::write_last_imm:
      return go_on(bth, body, out);
    default:
      return UcVerdict::malformed;
  }
}

// Rule 1: accepted at any PSN; a message left open is abandoned.
UcVerdict UcResponder::start(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept {
  expected_psn_ = (bth.psn + 1) & wire::kPsnMask;
  open_ = false;
  const bool first = bth.opcode == wire::write_first;
  const bool immediate = bth.opcode == wire::write_only_imm;
  std::span<const std::byte> payload;
  if (!wire::take_payload(bth, body, wire::kReth + (immediate ? wire::kImmediate : 0), payload))
    return UcVerdict::malformed;
  const wire::Reth reth = wire::load_reth(body.data());
  if (payload.size() > pmtu_) return UcVerdict::malformed;
  // A sender behind a smaller MTU cuts its messages into shorter packets; which, its FIRST says.
  if (first ? payload.empty() || bth.pad != 0 || reth.length <= payload.size() : payload.size() != reth.length) {
    return UcVerdict::malformed;
  }
  // Rule 4: a write of no bytes names no memory.
  if (reth.length != 0 &&
      (reth.key != rkey_ || reth.address > region_bytes_ || reth.length > region_bytes_ - reth.address)) {
    return UcVerdict::refused;
  }
  out = {reth.address, payload, reth.length, true, immediate, 0};
  if (immediate) out.immediate = wire::load_be<std::uint32_t>(body.data() + wire::kReth);
  if (first) {
    open_ = true;
    packet_bytes_ = static_cast<std::uint32_t>(payload.size());
    offset_ = reth.address + packet_bytes_;
    left_ = reth.length - packet_bytes_;
    message_bytes_ = reth.length;
  }
  return UcVerdict::accepted;
}

UcVerdict UcResponder::go_on(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept {
  // Rules 2 and 3: with the message closed, everything is dropped until the next FIRST or ONLY.
  if (bth.psn != expected_psn_ || !open_) {
    open_ = false;
    return UcVerdict::sequence_drop;
  }
  expected_psn_ = (bth.psn + 1) & wire::kPsnMask;
  const bool last = bth.opcode != wire::write_middle;
  const bool immediate = bth.opcode == wire::write_last_imm;
  std::span<const std::byte> payload;
  if (!wire::take_payload(bth, body, immediate ? wire::kImmediate : 0, payload) ||
      (last ? payload.size() != left_ || left_ > packet_bytes_
            : payload.size() != packet_bytes_ || left_ <= packet_bytes_)) {
    open_ = false;
    return UcVerdict::malformed;
  }
  out = {offset_, payload, message_bytes_, false, immediate, 0};
  if (immediate) out.immediate = wire::load_be<std::uint32_t>(body.data());
  offset_ += payload.size();
  left_ -= payload.size();
  open_ = !last;
  return UcVerdict::accepted;
}

}  // namespace rashpa::link::roce
