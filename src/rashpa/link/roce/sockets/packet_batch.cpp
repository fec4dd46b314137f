// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/packet_batch.hpp"

#include <netinet/udp.h>

#include <cerrno>
#include <cstring>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/wire/dual_crc.hpp"

namespace rashpa::link::roce {

namespace {
constexpr std::uint32_t kSegments = 64;           // the kernel's limit of segments in one datagram
constexpr std::uint32_t kDatagramBytes = 65'000;  // below 65535 less IP and UDP headers
}  // namespace

PacketBatch::PacketBatch(int socket, const wire::Address& destination, const wire::IcrcPath& path, std::uint32_t qpn,
                         bool gso, const std::optional<wire::FrameHeader>& front)
    : socket_(socket),
      destination_(destination),
      path_(path),
      qpn_(qpn),
      gso_(gso && !front),
      front_(front),
      fronts_(front ? kPackets : 0),
      slots_(kPackets),
      pieces_(4 * kPackets),
      messages_(kPackets),
      controls_(kPackets) {}

// Finds the datagram for a packet of this size; returns its place in it, which becomes its IPv4 identification.
std::uint16_t PacketBatch::place(std::uint32_t wire_bytes) noexcept {
  const bool joins = growing_ && gso_ && wire_bytes <= segment_ && in_datagram_ < kSegments &&
                     datagram_bytes_ + wire_bytes <= kDatagramBytes;
  if (!joins) {
    close_datagram();
    mmsghdr& message = messages_[datagrams_++];
    message = {};
    message.msg_hdr.msg_name = destination_.get();
    message.msg_hdr.msg_namelen = front_ ? 0 : destination_.bytes();
    message.msg_hdr.msg_iov = &pieces_[used_pieces_];
    segment_ = wire_bytes;
    in_datagram_ = 0;
    datagram_bytes_ = 0;
    growing_ = true;
  }
  const auto index = static_cast<std::uint16_t>(in_datagram_++);
  datagram_bytes_ += wire_bytes;
  return index;
}

void PacketBatch::close_datagram() noexcept {
  if (!growing_) return;
  growing_ = false;
  full_bytes_ += datagram_bytes_;
  if (in_datagram_ < 2) return;
  msghdr& header = messages_[datagrams_ - 1].msg_hdr;
  Control& control = controls_[datagrams_ - 1];
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  cmsghdr* const option = CMSG_FIRSTHDR(&header);
  option->cmsg_level = SOL_UDP;
  option->cmsg_type = UDP_SEGMENT;
  option->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto segment = static_cast<std::uint16_t>(segment_);
  std::memcpy(CMSG_DATA(option), &segment, sizeof segment);
}

std::uint32_t PacketBatch::append(const Outgoing& packet, std::uint32_t crc32c) noexcept {
  Slot& slot = slots_[packets_++];
  const std::uint32_t pad = wire::pad_of(packet.bytes);
  std::byte* const header = slot.header.data();
  wire::store_bth(header, packet.opcode, pad, qpn_, packet.psn, packet.ack_request);
  std::size_t at = wire::kBth;
  if (packet.has_deth) {
    wire::store_deth(header + at, packet.deth);
    at += wire::kDeth;
  }
  if (packet.has_reth) {
    wire::store_reth(header + at, packet.reth);
    at += wire::kReth;
  }
  if (packet.has_immediate) {
    wire::store_be(header + at, packet.immediate);
    at += wire::kImmediate;
  }
  if (packet.has_deth) {
    wire::store_line_header(header + at, packet.line);
    at += wire::LineHeader::kBytes;
  }
  slot.header_bytes = static_cast<std::uint32_t>(at);
  slot.payload_bytes = packet.bytes;
  const std::byte* payload = packet.payload;
  if (packet.has_immediate) {  // an event: its record is the caller's only until it returns
    std::memcpy(slot.record.data(), payload, FrameRecord::kBytes);
    payload = slot.record.data();
  }
  const std::uint32_t wire_bytes = slot.header_bytes + packet.bytes + pad + static_cast<std::uint32_t>(wire::kIcrc);
  slot.id = place(wire_bytes);
  header[4] = std::byte{0xFF};
  const wire::CrcPair both =
      wire::dual_crc({payload, packet.bytes}, {crc32({header, at}, path_.start(wire_bytes, slot.id)), crc32c});
  header[4] = std::byte{0};
  std::uint32_t icrc = both.crc32;
  std::memset(slot.tail.data(), 0, pad);
  if (pad != 0) icrc = crc32(std::span(slot.tail).first(pad), icrc);
  std::memcpy(slot.tail.data() + pad, &icrc, sizeof icrc);

  if (front_) {
    auto& front = fronts_[packets_ - 1];
    front_->write(front.data(), wire_bytes);
    pieces_[used_pieces_++] = {front.data(), front.size()};
    messages_[datagrams_ - 1].msg_hdr.msg_iovlen += 1;
  }
  iovec* const piece = &pieces_[used_pieces_];
  piece[0] = {header, at};
  piece[1] = {const_cast<std::byte*>(payload), packet.bytes};  // NOLINT: the kernel only reads
  piece[2] = {slot.tail.data(), pad + wire::kIcrc};
  used_pieces_ += 3;
  messages_[datagrams_ - 1].msg_hdr.msg_iovlen += 3;
  const bool grows = gso_ && wire_bytes == segment_ /* only the last may be shorter */ && in_datagram_ < kSegments &&
                     datagram_bytes_ + segment_ <= kDatagramBytes;
  if (!grows) close_datagram();
  return both.crc32c;
}

std::uint32_t PacketBatch::last_bits() const noexcept {
  const Slot& slot = slots_[packets_ - 1];
  const std::uint32_t bytes = slot.header_bytes + slot.payload_bytes + wire::pad_of(slot.payload_bytes) +
                              static_cast<std::uint32_t>(wire::kIcrc);
  return bytes * 8;
}

std::uint32_t PacketBatch::last_header_bits() const noexcept { return slots_[packets_ - 1].header_bytes * 8; }

bool PacketBatch::corrupt_last(std::byte* payload, std::uint32_t bit) noexcept {
  Slot& slot = slots_[packets_ - 1];
  if (payload == nullptr) payload = slot.record.data();
  const std::uint32_t pad = wire::pad_of(slot.payload_bytes);
  std::uint32_t byte = bit / 8;
  if (byte == 4) return false;  // reserved, not covered by the ICRC
  std::byte* at = nullptr;
  if (byte < slot.header_bytes) {
    at = slot.header.data() + byte;
  } else if (byte -= slot.header_bytes; byte < slot.payload_bytes) {
    at = payload + byte;
  } else {
    at = slot.tail.data() + (byte - slot.payload_bytes);
  }
  const auto flip = static_cast<std::byte>(1U << (bit % 8));
  *at ^= flip;
  const std::uint32_t wire_bytes = last_bits() / 8;
  slot.header[4] = std::byte{0xFF};
  std::uint32_t icrc = crc32(std::span(slot.header).first(slot.header_bytes), path_.start(wire_bytes, slot.id));
  slot.header[4] = std::byte{0};
  icrc = crc32({payload, slot.payload_bytes}, icrc);
  icrc = crc32(std::span(slot.tail).first(pad), icrc);
  std::uint32_t shown = 0;
  std::memcpy(&shown, slot.tail.data() + pad, sizeof shown);
  constexpr std::size_t kHeadersBehindId = 14 + 8;
  if (!destination_.v6() && wire::changed_id_bits(icrc ^ shown, kHeadersBehindId + wire_bytes - wire::kIcrc)) {
    *at ^= flip;
    return false;
  }
  return true;
}

PacketBatch::Sent PacketBatch::flush(Flush what) noexcept {
  if (what == Flush::all) close_datagram();
  const std::size_t end = datagrams_ - (growing_ ? 1 : 0);
  while (sent_datagrams_ < end) {
    const int sent =
        sendmmsg(socket_, &messages_[sent_datagrams_], static_cast<unsigned>(end - sent_datagrams_), MSG_DONTWAIT);
    if (sent > 0) {
      sent_datagrams_ += static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return Sent::some;
    // Anything else will not get better by repeating: the datagram is lost, as it could be on the wire.
    ++errors_;
    ++sent_datagrams_;
  }
  full_bytes_ = 0;
  if (growing_) return Sent::some;
  packets_ = used_pieces_ = datagrams_ = sent_datagrams_ = 0;
  return Sent::all;
}

}  // namespace rashpa::link::roce
