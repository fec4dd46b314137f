// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/transports/rc_responder.hpp"

#include <utility>

namespace rashpa::link::roce {

namespace {

constexpr bool ends_message(std::uint8_t opcode) noexcept {
  return opcode == wire::as_rc(wire::write_last) || opcode == wire::as_rc(wire::write_last_imm) ||
         opcode == wire::as_rc(wire::write_only) || opcode == wire::as_rc(wire::write_only_imm);
}

constexpr bool has_immediate(std::uint8_t opcode) noexcept {
  return opcode == wire::as_rc(wire::write_last_imm) || opcode == wire::as_rc(wire::write_only_imm);
}

constexpr bool is_request(std::uint8_t opcode) noexcept {
  constexpr std::uint8_t kFirstResponse = 0x0D;
  constexpr std::uint8_t kLastResponse = 0x12;
  return (opcode & wire::kTransportBits) == wire::kRcBits && (opcode < kFirstResponse || opcode > kLastResponse);
}

}  // namespace

std::optional<Acknowledgement> RcResponder::take_nak() noexcept { return std::exchange(nak_, std::nullopt); }

std::optional<Acknowledgement> RcResponder::take_acknowledgement() noexcept {
  if (!std::exchange(acknowledge_, false)) return std::nullopt;
  return Acknowledgement{(expected_psn_ - 1) & wire::kPsnMask, syndrome::acknowledge_without_credits, msn_};
}

// A NAK acknowledges everything before its PSN, so that an acknowledgement due before it has nothing to add.
void RcResponder::negative(std::uint8_t syndrome) noexcept {
  nak_ = Acknowledgement{expected_psn_, syndrome, msn_};
  acknowledge_ = false;
  waiting_ = true;
}

RcVerdict RcResponder::fail(RcVerdict verdict, std::uint8_t syndrome) noexcept {
  negative(syndrome);
  in_error_ = true;
  return verdict;
}

RcVerdict RcResponder::receive(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& out) noexcept {
  if (packet.size() < wire::kBth + wire::kIcrc || !is_request(bth.opcode)) return RcVerdict::malformed;
  if (in_error_) return RcVerdict::dropped;
  const std::int32_t ahead = wire::psn_distance(bth.psn, expected_psn_);
  if (ahead > 0) {
    if (!waiting_) negative(syndrome::sequence_error);
    return RcVerdict::ahead;
  }
  if (ahead < 0) {
    acknowledge_ = true;
    return RcVerdict::duplicate;
  }
  waiting_ = false;
  const RcVerdict verdict = execute(bth, packet.subspan(wire::kBth, packet.size() - wire::kBth - wire::kIcrc), out);
  if (verdict != RcVerdict::accepted) return verdict;
  expected_psn_ = (expected_psn_ + 1) & wire::kPsnMask;
  if (has_immediate(bth.opcode)) ++received_;
  if (ends_message(bth.opcode)) msn_ = (msn_ + 1) & wire::kPsnMask;
  if (bth.ack_request) acknowledge_ = true;
  return verdict;
}

// The order of the checks is the specification's: operation, place in the message, receive, length, key.
RcVerdict RcResponder::execute(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept {
  const auto operation = static_cast<std::uint8_t>(bth.opcode | wire::kUcBits);
  if (operation < wire::write_first || operation > wire::write_only_imm) {
    return fail(RcVerdict::invalid, syndrome::invalid_request);
  }
  const bool starts = operation == wire::write_first || operation >= wire::write_only;
  if (starts == open_) return fail(RcVerdict::invalid, syndrome::invalid_request);
  if (has_immediate(bth.opcode) && received_ >= receives_) {
    negative(static_cast<std::uint8_t>(syndrome::receiver_not_ready | rnr_timer_));
    return RcVerdict::not_ready;
  }
  return starts ? start(bth, body, out) : go_on(bth, body, out);
}

RcVerdict RcResponder::start(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept {
  const bool first = bth.opcode == wire::as_rc(wire::write_first);
  const bool immediate = has_immediate(bth.opcode);
  std::span<const std::byte> payload;
  if (!wire::take_payload(bth, body, wire::kReth + (immediate ? wire::kImmediate : 0), payload)) {
    return fail(RcVerdict::invalid, syndrome::invalid_request);
  }
  const wire::Reth reth = wire::load_reth(body.data());
  if (first ? payload.size() != pmtu_ || reth.length <= pmtu_ : payload.size() != reth.length || reth.length > pmtu_) {
    return fail(RcVerdict::invalid, syndrome::invalid_request);
  }
  // A write of no bytes names no memory.
  if (reth.length != 0 &&
      (reth.key != rkey_ || reth.address > region_bytes_ || reth.length > region_bytes_ - reth.address)) {
    return fail(RcVerdict::refused, syndrome::remote_access_error);
  }
  out = {reth.address, payload, reth.length, true, immediate, 0};
  if (immediate) out.immediate = wire::load_be<std::uint32_t>(body.data() + wire::kReth);
  if (first) {
    open_ = true;
    offset_ = reth.address + pmtu_;
    left_ = reth.length - pmtu_;
    message_bytes_ = reth.length;
  }
  return RcVerdict::accepted;
}

RcVerdict RcResponder::go_on(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept {
  const bool last = bth.opcode != wire::as_rc(wire::write_middle);
  const bool immediate = has_immediate(bth.opcode);
  std::span<const std::byte> payload;
  if (!wire::take_payload(bth, body, immediate ? wire::kImmediate : 0, payload) ||
      (last ? payload.size() != left_ || left_ > pmtu_ : payload.size() != pmtu_ || left_ <= pmtu_)) {
    return fail(RcVerdict::invalid, syndrome::invalid_request);
  }
  out = {offset_, payload, message_bytes_, false, immediate, 0};
  if (immediate) out.immediate = wire::load_be<std::uint32_t>(body.data());
  offset_ += payload.size();
  left_ -= payload.size();
  open_ = !last;
  return RcVerdict::accepted;
}

}  // namespace rashpa::link::roce
