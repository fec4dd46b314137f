// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/udp_socket.hpp"

#include <fmt/format.h>
#include <linux/filter.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "rashpa/core/error.hpp"

namespace rashpa::link::roce {

namespace {
template <typename T>
bool set(int fd, int level, int name, T value) noexcept {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}
}  // namespace

UdpSocket::UdpSocket(bool v6, std::string_view link)
    : link_(link), fd_(socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  if (fd_ < 0) {
    throw ResourceError(fmt::format("{}: no {} socket: {}; switch the protocol on, or check the limit of open files",
                                    link_, v6 ? "IPv6" : "IPv4", errno_text(errno)));
  }
  if (v6) {
    set(fd_, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    // RNICs and the kernel's RoCE send UDP checksum 0, which IPv6 sockets drop unless told otherwise; the ICRC covers
    // all.
    set(fd_, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
    set(fd_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, static_cast<int>(IPV6_PMTUDISC_DO));
  } else {
    set(fd_, IPPROTO_IP, IP_MTU_DISCOVER, static_cast<int>(IP_PMTUDISC_DO));
  }
}

UdpSocket::~UdpSocket() {
  if (fd_ >= 0) ::close(fd_);
}

void UdpSocket::bind(const wire::Address& address) {
  if (::bind(fd_, address.get(), address.bytes()) == 0) return;
  const int code = errno;
  throw ResourceError(fmt::format(
      "{}: cannot listen on {} port {}: {}; {}", link_, address.text(), address.port(), errno_text(code),
      code == EADDRINUSE ? "choose another port, or 0 for any free one, or end the program that holds it (ss -ulpn)"
                         : "choose an address of this machine (ip addr)"));
}

void set_socket_buffers(int fd, std::uint32_t bytes) noexcept {
  const int wanted = static_cast<int>(bytes);
  if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, wanted)) set(fd, SOL_SOCKET, SO_RCVBUF, wanted);
  if (!set(fd, SOL_SOCKET, SO_SNDBUFFORCE, wanted)) set(fd, SOL_SOCKET, SO_SNDBUF, wanted);
}

std::uint64_t receive_buffer_of(int fd) noexcept {
  int granted = 0;
  socklen_t size = sizeof granted;
  getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &size);
  return static_cast<std::uint64_t>(std::max(granted, 0));
}

bool UdpSocket::enable_gro() noexcept { return set(fd_, IPPROTO_UDP, UDP_GRO, 1); }

bool UdpSocket::can_gso() const noexcept {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd_, IPPROTO_UDP, UDP_SEGMENT, &value, &size) == 0;
}

void UdpSocket::send_ecn_capable() noexcept {
  constexpr int kCapable = 2;
  set(fd_, IPPROTO_IP, IP_TOS, kCapable);
  set(fd_, IPPROTO_IPV6, IPV6_TCLASS, kCapable);
}

void UdpSocket::enable_marks() noexcept {
  set(fd_, IPPROTO_IP, IP_RECVTOS, 1);
  set(fd_, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
}

void UdpSocket::refuse_everything() {
  // Linux cuts a merged datagram for a socket that never asked for such before it looks at the filter. Having asked
  // once, and no more, spares it the work and keeps it from merging what comes from a network.
  set(fd_, IPPROTO_UDP, UDP_GRO, 1);
  set(fd_, IPPROTO_UDP, UDP_GRO, 0);
  sock_filter nothing{BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program{1, &nothing};
  if (!set(fd_, SOL_SOCKET, SO_ATTACH_FILTER, program)) {
    throw ResourceError(fmt::format(
        "roce: a UDP socket takes no filter: {}; use a kernel with CONFIG_NET, and no sandbox that forbids filters",
        errno_text(errno)));
  }
}

void UdpSocket::enable_packet_info() {
  const bool done = local().v6() ? set(fd_, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) : set(fd_, IPPROTO_IP, IP_PKTINFO, 1);
  if (!done)
    throw ResourceError(fmt::format("roce: packet information is not available: {}; use a newer kernel, or icrc off",
                                    errno_text(errno)));
}

wire::Address UdpSocket::local() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    throw ResourceError(fmt::format(
        "roce: the address of a socket cannot be read: {}; check the sandbox of this process", errno_text(errno)));
  }
  return wire::Address(storage);
}

}  // namespace rashpa::link::roce
