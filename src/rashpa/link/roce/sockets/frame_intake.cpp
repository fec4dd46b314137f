// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/frame_intake.hpp"

#include <linux/if_packet.h>

#include <cstring>

#include "rashpa/wire/frame_header.hpp"

namespace rashpa::link::roce {

namespace {

constexpr std::size_t kLargestFrame = 65'535 + 64;  // the largest IPv4 packet behind Ethernet and virtual header
constexpr std::size_t kLongBatch = 4;               // keeps long frames in the second-level cache
constexpr std::size_t kBatch = 32;
constexpr std::size_t kLongBytes = 16'384;

}  // namespace

bool of_another_vlan(const msghdr& header) noexcept {
  constexpr std::uint16_t kVlan = 0xFFF;
  auto& all = const_cast<msghdr&>(header);  // NOLINT: the macros read only
  for (cmsghdr* option = CMSG_FIRSTHDR(&all); option != nullptr; option = CMSG_NXTHDR(&all, option)) {
    if (option->cmsg_level != SOL_PACKET || option->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata auxiliary{};
    std::memcpy(&auxiliary, CMSG_DATA(option), sizeof auxiliary);
    return (auxiliary.tp_status & TP_STATUS_VLAN_VALID) != 0 && (auxiliary.tp_vlan_tci & kVlan) != 0;
  }
  return false;
}

FrameIntake::FrameIntake(const PacketSocket& socket, const Options& options, PacketCounters& counters)
    : socket_(&socket),
      framing_(options.framing),
      counters_(&counters),
      most_(kBatch),
      batch_(kBatch),
      // A longer RoCEv1 frame than a packet can be is cut off by the kernel and then malformed.
      buffer_bytes_(framing_ == Framing::v1 ? options.pmtu + wire::FrameHeader::kBytes + 64 : kLargestFrame) {
  buffers_.resize(most_ * buffer_bytes_);
  pieces_.resize(most_);
  controls_.resize(most_);
  messages_.resize(most_);
  frames_.resize(most_);
  datagrams_.resize(most_);
  for (std::size_t i = 0; i < most_; ++i) {
    pieces_[i] = {buffers_.data() + i * buffer_bytes_, buffer_bytes_};
    msghdr& header = messages_[i].msg_hdr;
    header.msg_iov = &pieces_[i];
    header.msg_iovlen = 1;
    header.msg_control = controls_[i].bytes.data();
  }
}

bool FrameIntake::parse(mmsghdr& message, std::span<std::byte> bytes, wire::Frame& into) const noexcept {
  if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0 || of_another_vlan(message.msg_hdr)) return false;
  return framing_ == Framing::v1 ? wire::parse_roce1_frame(bytes, into) : wire::parse_udp4_frame(bytes, into);
}

std::span<Datagram> FrameIntake::receive(bool& drained) noexcept {
  for (std::size_t i = 0; i < batch_; ++i) messages_[i].msg_hdr.msg_controllen = sizeof(Control);
  const int taken = recvmmsg(socket_->fd(), messages_.data(), static_cast<unsigned>(batch_), MSG_DONTWAIT, nullptr);
  const std::size_t count = taken > 0 ? static_cast<std::size_t>(taken) : 0;
  drained = count < batch_;
  std::size_t good = 0;
  bool long_ones = false;
  for (std::size_t i = 0; i < count; ++i) {
    long_ones = long_ones || messages_[i].msg_len > kLongBytes;
    wire::Frame& frame = frames_[good];
    if (!parse(messages_[i], {buffers_.data() + i * buffer_bytes_, messages_[i].msg_len}, frame)) {
      counters_->packets.add(1);
      counters_->malformed.add(1);
      continue;
    }
    Datagram& datagram = datagrams_[good++];
    datagram.bytes = frame.transport;
    datagram.segment = frame.segment;
    datagram.source = &frame.source;
    datagram.destination = &frame.destination;
    datagram.identification = frame.identification;
    datagram.congestion = frame.congestion;
  }
  if (count > 0) batch_ = long_ones ? kLongBatch : most_;
  return std::span(datagrams_).first(good);
}

}  // namespace rashpa::link::roce
