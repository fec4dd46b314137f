// SPDX-License-Identifier: Apache-2.0
#include "udp_port.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "rashpa/core/error.hpp"
#include "rashpa/wire/address.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::sim {

namespace {

constexpr std::size_t kEthernet = 14, kUdp = 8;
constexpr std::uint16_t kIpv4 = 0x0800, kIpv6 = 0x86DD;
constexpr std::byte kUdpProtocol{17};

/// Where things stand in a frame with an IP packet without options.
struct Places {
  std::size_t addresses;      ///< source, then destination
  std::size_t address_bytes;  ///< of each
  std::size_t protocol;
  std::size_t udp;
};
constexpr Places places(bool v6) noexcept {
  return v6 ? Places{22, 16, 20, kEthernet + 40} : Places{26, 4, 23, kEthernet + 20};
}

wire::Address address(std::span<const std::byte> ip, std::uint16_t port) {
  sockaddr_storage storage{};
  if (ip.size() == 4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, ip.data(), 4);
    std::memcpy(&storage, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, ip.data(), 16);
    std::memcpy(&storage, &v6, sizeof v6);
  }
  return wire::Address(storage);
}

}  // namespace

UdpPort::~UdpPort() {
  for (const auto& [name, fd] : sockets_) close(fd);
}

void UdpPort::listen(std::span<const card::registers::DtpTable> tables) {
  std::set<Name> names;
  for (const auto& table : tables) names.insert(name_of(table));
  for (auto at = sockets_.begin(); at != sockets_.end();) {
    if (names.contains(at->first)) {
      ++at;
      continue;
    }
    const int fd = at->second;
    std::erase_if(polled_, [fd](const pollfd& polled) { return polled.fd == fd; });
    close(fd);
    at = sockets_.erase(at);
  }
  for (const Name& name : names) socket_of(name);
}

UdpPort::Name UdpPort::name_of(const card::registers::DtpTable& table) {
  Name name{.v6 = table.mtu_ipv6};
  std::memcpy(name.ip.data(), table.ip_source.data(), name.v6 ? 16 : 4);
  name.port = {static_cast<std::uint8_t>(table.ports_source_port >> 8U),
               static_cast<std::uint8_t>(table.ports_source_port)};
  return name;
}

int UdpPort::socket_of(const Name& name) {
  if (const auto found = sockets_.find(name); found != sockets_.end()) return found->second;
  const auto ip = std::as_bytes(std::span(name.ip)).first(name.v6 ? 16 : 4);
  const wire::Address local = address(ip, wire::load_be<std::uint16_t>(std::as_bytes(std::span(name.port)).data()));
  const int fd = socket(local.v6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  // No connected socket and no fragments: then the identification of IPv4 is 0, as the ICRC has it.
  const int discover = IP_PMTUDISC_DO;
  const int room = 8 << 20;
  const bool made =
      fd >= 0 && (local.v6() || setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover) == 0) &&
      setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0 && bind(fd, local.get(), local.bytes()) == 0;
  if (!made) {
    const int reason = errno;
    if (fd >= 0) close(fd);
    throw ResourceError(
        fmt::format("card: UDP port {} of {} cannot be had: {}; addresses in the table of DTPs must be this machine's",
                    local.port(), local.text(), errno_text(reason)));
  }
  polled_.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  return sockets_.emplace(name, fd).first->second;
}

bool UdpPort::send(std::span<const std::byte> frame) {
  const std::uint16_t type =
      frame.size() > kEthernet ? wire::load_be<std::uint16_t>(frame.data() + 12) : std::uint16_t{0};
  const bool v6 = type == kIpv6;
  const auto [addresses, bytes, protocol, udp] = places(v6);
  if ((type != kIpv4 && !v6) || frame.size() < udp + kUdp || frame[protocol] != kUdpProtocol) {
    ++refused_;
    return true;
  }
  Name from{.v6 = v6};
  std::memcpy(from.ip.data(), frame.data() + addresses, bytes);
  std::memcpy(from.port.data(), frame.data() + udp, from.port.size());
  const int fd = socket_of(from);
  const wire::Address to =
      address(frame.subspan(addresses + bytes, bytes), wire::load_be<std::uint16_t>(frame.data() + udp + 2));
  const auto payload = frame.subspan(udp + kUdp);
  if (sendto(fd, payload.data(), payload.size(), 0, to.get(), to.bytes()) >= 0) return true;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return false;
  if (errno == ECONNREFUSED) return true;  // of an earlier packet: nobody listens there, a loss like any other
  throw ResourceError(fmt::format("card: a packet of {} bytes to {} port {} cannot be sent: {}", payload.size(),
                                  to.text(), to.port(), errno_text(errno)));
}

void UdpPort::receive(CardModel& model) {
  for (const auto& [name, fd] : sockets_) {
    const bool v6 = name.v6;
    const auto [addresses, bytes, protocol, udp] = places(v6);
    for (;;) {
      wire::Address from;
      socklen_t room = sizeof(sockaddr_storage);
      const ssize_t got =
          recvfrom(fd, buffer_.data() + udp + kUdp, buffer_.size() - udp - kUdp, MSG_DONTWAIT, from.get(), &room);
      if (got < 0) break;
      std::byte* const at = buffer_.data();
      std::memset(at, 0, udp + kUdp);
      const auto length = static_cast<std::uint16_t>(static_cast<std::size_t>(got) + kUdp);
      wire::store_be<std::uint16_t>(at + 12, v6 ? kIpv6 : kIpv4);
      if (v6) {
        at[14] = std::byte{0x60};
        wire::store_be<std::uint16_t>(at + 18, length);
      } else {
        at[14] = std::byte{0x45};
        wire::store_be<std::uint16_t>(at + 16, static_cast<std::uint16_t>(length + udp - kEthernet));
        at[20] = std::byte{0x40};  // don't fragment
      }
      at[protocol] = kUdpProtocol;
      std::memcpy(at + addresses, from.ip().data(), bytes);
      std::memcpy(at + addresses + bytes, name.ip.data(), bytes);
      wire::store_be<std::uint16_t>(at + udp, from.port());
      std::memcpy(at + udp + 2, name.port.data(), name.port.size());
      wire::store_be<std::uint16_t>(at + udp + 4, length);
      model.receive({at, udp + kUdp + static_cast<std::size_t>(got)});
    }
  }
}

void UdpPort::wait(std::uint32_t microseconds) {
  const timespec time{.tv_sec = microseconds / 1'000'000, .tv_nsec = 1'000L * (microseconds % 1'000'000)};
  ppoll(polled_.data(), polled_.size(), &time, nullptr);
}

}  // namespace rashpa::sim
