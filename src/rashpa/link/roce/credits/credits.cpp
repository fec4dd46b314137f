#include "rashpa/link/roce/credits/credits.hpp"

#include <algorithm>
#include <cstring>

#include "rashpa/core/checksum.hpp"
#include "rashpa/link/roce/credits/congestion.hpp"

namespace rashpa::link::roce {

static_assert(std::endian::native == std::endian::little, "the words are written as they lie in memory");

namespace {
constexpr std::uint32_t kCreditPmtu = 256;  // far more than a credit has
}  // namespace

CreditWriter::CreditWriter(const wire::Address& local, const wire::Address& to, const Endpoint& source, Framing framing,
                           Transport transport, std::uint32_t qpn)
    : transport_(transport), qpn_(qpn), source_(source), to_(to), path_(local, to, framing) {
  if (framing == Framing::v2) return;
  const std::size_t extended = transport == Transport::ud ? wire::kDeth + wire::LineHeader::kBytes : wire::kReth;
  wire::FrameHeader(local, to, wire::FrameHeader::Ecn::none)
      .write(packet_.data(), wire::kBth + extended + sizeof(CreditWords) + wire::kIcrc);
  front_ = wire::FrameHeader::kBytes;
}

std::span<const std::byte> CreditWriter::packet(const CreditWords& words) noexcept {
  std::byte* const start = packet_.data() + front_;
  std::byte* at = start + wire::kBth;
  if (transport_ == Transport::ud) {
    wire::store_bth(start, wire::ud_send_only, 0, source_.qpn, psn_);
    wire::store_deth(at, {qkey_of(source_.rkey), qpn_});
    at += wire::kDeth;
    wire::store_line_header(at, {source_.credit_offset, sizeof words, wire::LineHeader::credit});
    at += wire::LineHeader::kBytes;
  } else {
    const bool rc = transport_ == Transport::rc;
    constexpr std::uint8_t kUcOpcode = wire::write_only;
    const std::uint8_t opcode = rc ? wire::as_rc(kUcOpcode) : kUcOpcode;
    wire::store_bth(start, opcode, 0, source_.qpn, psn_, rc);
    wire::store_reth(at, {source_.credit_offset, source_.rkey, sizeof words});
    at += wire::kReth;
  }
  std::memcpy(at, &words, sizeof words);
  at += sizeof words;
  const auto covered = static_cast<std::size_t>(at - start);
  const std::size_t transport_bytes = covered + wire::kIcrc;
  bytes_ = front_ + transport_bytes;
  start[4] = std::byte{0xFF};
  const std::uint32_t icrc = crc32({start, covered}, path_.start(transport_bytes, 0));
  start[4] = std::byte{0};
  std::memcpy(at, &icrc, sizeof icrc);
  unacknowledged_ = transport_ == Transport::rc;
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
      transport_(transport),
      path_(receiver, local, framing),
      rc_(kCreditPmtu, self.rkey, self.credit_offset + sizeof words_, 0, 0),
      ud_(kCreditPmtu, self.rkey, self.credit_offset + sizeof words_, wire::LineHeader::credit) {}

bool CreditReader::accept(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& write) noexcept {
  switch (transport_) {
    case Transport::uc: {
      // One packet is one message here, so that a fresh responder knows all that matters.
      UcResponder responder(kCreditPmtu, self_.rkey, self_.credit_offset + sizeof words_);
      return bth.opcode == wire::write_only && responder.receive(bth, packet, write) == UcVerdict::accepted;
    }
    case Transport::rc:
      return rc_.receive(bth, packet, write) == RcVerdict::accepted && bth.opcode == wire::as_rc(wire::write_only);
    case Transport::ud:
      return ud_.receive(bth, packet, write) == UdVerdict::accepted && !write.has_immediate;
  }
  return false;
}

std::optional<Acknowledgement> CreditReader::take_answer() noexcept {
  if (const auto nak = rc_.take_nak()) return nak;
  return rc_.take_acknowledgement();
}

CreditReader::Taken CreditReader::take(std::span<std::byte> packet, const wire::Address& from) noexcept {
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
    return Taken::nothing;
  }
  if (transport_ == Transport::rc && read_acknowledgement(bth, packet, acknowledgement_)) return Taken::acknowledgement;
  AcceptedWrite write;
  if (!accept(bth, packet, write)) return Taken::nothing;
  const bool whole = write.offset == self_.credit_offset &&
                     (write.payload.size() == sizeof words_ || write.payload.size() == sizeof words_.images);
  if (!whole) return Taken::nothing;
  CreditWords news = words_;
  std::memcpy(&news, write.payload.data(), write.payload.size());
  if (news.images == words_.images && news.bytes == words_.bytes) ++repeats_;
  words_.images = std::max(words_.images, news.images);
  words_.bytes = std::max(words_.bytes, news.bytes);
  return Taken::credit;
}

}  // namespace rashpa::link::roce
