// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/udp_intake.hpp"

#include <netinet/udp.h>

#include <cstring>

#include "rashpa/wire/frame_parser.hpp"

namespace rashpa::link::roce {

namespace {

constexpr std::size_t kLargestDatagram = 65'536;  // the largest merged datagram
constexpr std::size_t kMergedBatch = 4;
constexpr std::size_t kPlainBatch = 64;

template <typename T>
T value_of(const cmsghdr* option) noexcept {
  T value{};
  std::memcpy(&value, CMSG_DATA(option), sizeof value);
  return value;
}

bool congestion(unsigned traffic_class) noexcept { return (traffic_class & wire::kEcnMask) == wire::kEcnCongestion; }

}  // namespace

UdpIntake::UdpIntake(UdpSocket& socket, const Options& options, memory::Gather* gather)
    : socket_(&socket), local_(socket.local()), wildcard_(local_.wildcard()) {
  const bool gro = options.gro && socket.enable_gro();
  if (wildcard_) socket.enable_packet_info();
  socket.enable_marks();
  batch_ = gro ? kMergedBatch : kPlainBatch;
  // Longer datagrams than a packet can be are cut off by the kernel and then fail the ICRC or the length check.
  buffer_bytes_ = gro ? kLargestDatagram : options.pmtu + 64;
  if (gather != nullptr) {
    pool_.emplace(*gather, buffer_bytes_);
  } else {
    buffers_.resize(batch_ * buffer_bytes_);
  }
  sources_.resize(batch_);
  destinations_.resize(batch_, local_);
  pieces_.resize(batch_);
  controls_.resize(batch_);
  messages_.resize(batch_);
  datagrams_.resize(batch_);
  for (std::size_t i = 0; i < batch_; ++i) {
    pieces_[i] = {pool_ ? pool_->at(i) : buffers_.data() + i * buffer_bytes_, buffer_bytes_};
    msghdr& header = messages_[i].msg_hdr;
    header.msg_name = sources_[i].get();
    header.msg_iov = &pieces_[i];
    header.msg_iovlen = 1;
    header.msg_control = controls_[i].bytes.data();
    datagrams_[i].source = &sources_[i];
    datagrams_[i].destination = &destinations_[i];
  }
}

std::span<Datagram> UdpIntake::receive(bool& drained) noexcept {
  std::size_t room = batch_;
  if (pool_) {
    room = pool_->free(batch_);
    for (std::size_t i = 0; i < room; ++i) pieces_[i].iov_base = pool_->at(i);
  }
  for (mmsghdr& message : std::span(messages_).first(room)) {
    message.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    message.msg_hdr.msg_controllen = sizeof(Control);
  }
  const int taken =
      room == 0 ? 0 : recvmmsg(socket_->fd(), messages_.data(), static_cast<unsigned>(room), MSG_DONTWAIT, nullptr);
  const std::size_t count = taken > 0 ? static_cast<std::size_t>(taken) : 0;
  drained = count < room;
  if (pool_) pool_->take(count);
  for (std::size_t i = 0; i < count; ++i) {
    datagrams_[i].bytes = {static_cast<std::byte*>(pieces_[i].iov_base), messages_[i].msg_len};
    read_control(messages_[i].msg_hdr, i);
  }
  return std::span(datagrams_).first(count);
}

// How the kernel has merged the datagram, whether it is marked (the kernel merges only what is marked alike), and where
// it went.
void UdpIntake::read_control(msghdr& header, std::size_t at) noexcept {
  Datagram& datagram = datagrams_[at];
  datagram.segment = 0;
  datagram.congestion = false;
  for (cmsghdr* option = CMSG_FIRSTHDR(&header); option != nullptr; option = CMSG_NXTHDR(&header, option)) {
    const int type = option->cmsg_type;
    if (option->cmsg_level == SOL_UDP && type == UDP_GRO) {
      datagram.segment = static_cast<std::size_t>(value_of<int>(option));
    } else if (option->cmsg_level == IPPROTO_IP && type == IP_TOS) {
      datagram.congestion = congestion(value_of<std::uint8_t>(option));
    } else if (option->cmsg_level == IPPROTO_IPV6 && type == IPV6_TCLASS) {
      datagram.congestion = congestion(static_cast<unsigned>(value_of<int>(option)));
    } else if (option->cmsg_level == IPPROTO_IP && type == IP_PKTINFO) {
      reinterpret_cast<sockaddr_in*>(destinations_[at].get())->sin_addr = value_of<in_pktinfo>(option).ipi_addr;
    } else if (option->cmsg_level == IPPROTO_IPV6 && type == IPV6_PKTINFO) {
      reinterpret_cast<sockaddr_in6*>(destinations_[at].get())->sin6_addr = value_of<in6_pktinfo>(option).ipi6_addr;
    }
  }
}

}  // namespace rashpa::link::roce
