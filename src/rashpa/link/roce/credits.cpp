#include "rashpa/link/roce/credits.hpp"

#include <algorithm>
#include <cstring>

#include "rashpa/core/checksum.hpp"
#include "rashpa/link/roce/congestion.hpp"
#include "rashpa/link/roce/uc_responder.hpp"

namespace rashpa::link::roce {

static_assert(std::endian::native == std::endian::little, "the words are written as they lie in memory");

CreditWriter::CreditWriter(const Address& local, const Address& to, const Endpoint& source, Framing framing)
    : source_(source), to_(to), path_(local, to, framing) {
  if (framing == Framing::v2) return;
  FrameHeader(local, to, FrameHeader::Ecn::none).write(packet_.data(), kPacket);
  front_ = FrameHeader::kBytes;
}

std::span<const std::byte> CreditWriter::packet(const CreditWords& words) noexcept {
  std::byte* const at = packet_.data() + front_;
  wire::store_bth(at, wire::write_only, 0, source_.qpn, psn_);
  psn_ = (psn_ + 1) & wire::kPsnMask;
  wire::store_reth(at + wire::kBth, {source_.credit_offset, source_.rkey, sizeof words});
  std::memcpy(at + wire::kBth + wire::kReth, &words, sizeof words);
  constexpr std::size_t kCovered = kPacket - wire::kIcrc;
  at[4] = std::byte{0xFF};
  const std::uint32_t icrc = crc32({at, kCovered}, path_.start(kPacket, 0));
  at[4] = std::byte{0};
  std::memcpy(at + kCovered, &icrc, sizeof icrc);
  return std::span(packet_).first(front_ + kPacket);
}

CreditReader::CreditReader(const Endpoint& self, const Address& receiver, const Address& local, Port port,
                           Framing framing)
    : self_(self),
      receiver_(receiver),
      local_(local),
      port_(port),
      framing_(framing),
      path_(receiver, local, framing) {}

bool CreditReader::take(std::span<std::byte> packet, const Address& from) noexcept {
  if (packet.size() < wire::kBth + wire::kIcrc || from.ip() != receiver_.ip()) return false;
  if (from.port() != receiver_.port()) {
    if (port_ == Port::same) return false;
    receiver_.set_port(from.port());  // an RNIC keeps the port of a queue pair: once
    path_ = IcrcPath(receiver_, local_, framing_);
  }
  if (path_.check(packet, {}) == IcrcCheck::bad) return false;
  const wire::Bth bth = wire::load_bth(packet.data());
  if (bth.version != 0 || bth.pkey != wire::kPkey || bth.qpn != self_.qpn) return false;
  if (is_congestion_notification(packet)) cnps_.add(1);
  if (bth.opcode != wire::write_only) return false;
  // One packet is one message here, so that a fresh responder knows all that matters.
  UcResponder responder(256, self_.rkey, self_.credit_offset + sizeof words_);
  UcWrite write;
  if (responder.receive(bth, packet, write) != UcVerdict::accepted) return false;
  const bool whole = write.offset == self_.credit_offset &&
                     (write.payload.size() == sizeof words_ || write.payload.size() == sizeof words_.images);
  if (!whole) return false;
  CreditWords news = words_;
  std::memcpy(&news, write.payload.data(), write.payload.size());
  if (news.images == words_.images && news.bytes == words_.bytes) ++repeats_;
  words_.images = std::max(words_.images, news.images);
  words_.bytes = std::max(words_.bytes, news.bytes);
  return true;
}

}  // namespace rashpa::link::roce
