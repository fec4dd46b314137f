// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/credits/credits.hpp"

#include <algorithm>
#include <cstring>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/roce/credits/congestion.hpp"

namespace rashpa::link::roce {

static_assert(std::endian::native == std::endian::little, "the words are written as they lie in memory");

namespace {
constexpr std::uint32_t kCreditPmtu = 256;  // far more than a credit has
}  // namespace

// All but the sequence number, the words and the ICRC stays as it is made here.
CreditWriter::CreditWriter(const wire::Address& local, const wire::Address& to, const Endpoint& source, Framing framing,
                           Transport transport, std::uint32_t qpn, std::uint32_t psn)
    : acknowledged_(transport == Transport::rc), to_(to), path_(local, to, framing), psn_(psn & wire::kPsnMask) {
  const bool ud = transport == Transport::ud;
  const std::size_t headers = wire::kBth + (ud ? wire::kDeth + wire::LineHeader::kBytes : wire::kReth);
  const std::size_t packet = headers + sizeof(CreditWords) + wire::kIcrc;
  if (framing == Framing::v1) {
    wire::FrameHeader(local, to, wire::FrameHeader::Ecn::none).write(packet_.data(), packet);
    front_ = wire::FrameHeader::kBytes;
  }
  words_at_ = front_ + headers;
  bytes_ = front_ + packet;
  std::byte* const start = packet_.data() + front_;
  std::byte* const extended = start + wire::kBth;
  if (ud) {
    wire::store_bth(start, wire::ud_send_only, 0, source.qpn, 0);
    wire::store_deth(extended, {qkey_of(source.rkey), qpn});
    wire::store_line_header(extended + wire::kDeth,
                            {source.credit_offset, sizeof(CreditWords), wire::LineHeader::credit});
  } else {
    constexpr std::uint8_t kUcOpcode = wire::write_only;
    const std::uint8_t opcode = acknowledged_ ? wire::as_rc(kUcOpcode) : kUcOpcode;
    wire::store_bth(start, opcode, 0, source.qpn, 0, acknowledged_);
    wire::store_reth(extended, {source.credit_offset, source.rkey, sizeof(CreditWords)});
  }
}

std::span<const std::byte> CreditWriter::packet(const CreditWords& words) noexcept {
  std::byte* const start = packet_.data() + front_;
  wire::store_psn(start, psn_);
  std::memcpy(packet_.data() + words_at_, &words, sizeof words);
  const std::size_t transport_bytes = bytes_ - front_;
  const std::size_t covered = transport_bytes - wire::kIcrc;
  start[4] = std::byte{0xFF};
  const std::uint32_t icrc = crc32({start, covered}, path_.start(transport_bytes, 0));
  start[4] = std::byte{0};
  std::memcpy(start + covered, &icrc, sizeof icrc);
  unacknowledged_ = acknowledged_;
  if (!unacknowledged_) psn_ = (psn_ + 1) & wire::kPsnMask;
  return again();
}

// A NAK names what the source waits for, and one packet alone can only be that: it is repeated anyway.
void CreditWriter::take(const Acknowledgement& acknowledgement) noexcept {
  const bool positive = (acknowledgement.syndrome & syndrome::kind) == syndrome::acknowledge;
  if (!unacknowledged_ || !positive || acknowledgement.psn != psn_) return;
  unacknowledged_ = false;
  psn_ = (psn_ + 1) & wire::kPsnMask;
}

CreditReader::CreditReader(const Endpoint& self, const wire::Address& receiver, const wire::Address& local, Port port,
                           Framing framing, Transport transport)
    : self_(self),
      receiver_(receiver),
      local_(local),
      port_(port),
      framing_(framing),
      accept_(transport == Transport::uc   ? &CreditReader::accept_uc
              : transport == Transport::rc ? &CreditReader::accept_rc
                                           : &CreditReader::accept_ud),
      acknowledges_(transport == Transport::rc),
      path_(receiver, local, framing),
      rc_(kCreditPmtu, self.rkey, self.credit_offset + sizeof words_, 0),
      ud_(kCreditPmtu, self.rkey, self.credit_offset + sizeof words_, wire::LineHeader::credit) {}

bool CreditReader::accept_uc(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& write) noexcept {
  // One packet is one message here, so that a fresh responder knows all that matters.
  UcResponder responder(kCreditPmtu, self_.rkey, self_.credit_offset + sizeof words_);
  return bth.opcode == wire::write_only && responder.receive(bth, packet, write) == UcVerdict::accepted;
}

bool CreditReader::accept_rc(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& write) noexcept {
  return rc_.receive(bth, packet, write) == RcVerdict::accepted && bth.opcode == wire::as_rc(wire::write_only);
}

bool CreditReader::accept_ud(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& write) noexcept {
  return ud_.receive(bth, packet, write) == UdVerdict::accepted && !write.has_immediate;
}

std::optional<Acknowledgement> CreditReader::take_answer() noexcept {
  if (const auto nak = rc_.take_nak()) return nak;
  return rc_.take_acknowledgement();
}

CreditReader::Taken CreditReader::take(std::span<std::byte> packet, const wire::Address& from) noexcept {
  const Taken taken = look_at(packet, from);
  if (taken == Taken::nothing) refused_.add(1);
  return taken;
}

CreditReader::Taken CreditReader::look_at(std::span<std::byte> packet, const wire::Address& from) noexcept {
  if (packet.size() < wire::kBth + wire::kIcrc || from.ip() != receiver_.ip()) return Taken::nothing;
  if (from.port() != receiver_.port()) {
    if (port_ == Port::same) return Taken::nothing;
    receiver_.set_port(from.port());  // an RNIC keeps the port of a queue pair: once
    path_ = wire::IcrcPath(receiver_, local_, framing_);
  }
  if (path_.check(packet, {}) == wire::IcrcCheck::bad) return Taken::nothing;
  const wire::Bth bth = wire::load_bth(packet.data());
  if (bth.version != 0 || bth.pkey != wire::kPkey || bth.qpn != self_.qpn) return Taken::nothing;
  if (is_congestion_notification(packet)) {
    cnps_.add(1);
    return Taken::notice;
  }
  if (acknowledges_ && read_acknowledgement(bth, packet, acknowledgement_)) return Taken::acknowledgement;
  AcceptedWrite write;
  if (!(this->*accept_)(bth, packet, write)) return acknowledges_ ? Taken::notice : Taken::nothing;
  const bool whole = write.offset == self_.credit_offset &&
                     (write.payload.size() == sizeof words_ || write.payload.size() == sizeof words_.images);
  if (!whole) return Taken::nothing;
  CreditWords news = words_;
  std::memcpy(&news, write.payload.data(), write.payload.size());
  if (news.images == words_.images && news.bytes == words_.bytes) ++repeats_;
  words_ = news;
  return Taken::credit;
}

}  // namespace rashpa::link::roce
