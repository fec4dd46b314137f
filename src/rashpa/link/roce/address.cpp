#include "rashpa/link/roce/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/udp_socket.hpp"

namespace rashpa::link::roce {

Address::Address(const std::string& text, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (text.empty() || getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0 || found == nullptr) {
    throw ConfigError(fmt::format("roce: '{}' is no IPv4 or IPv6 address; give a numeric one such as 127.0.0.1", text));
  }
  std::memcpy(&storage_, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  set_port(port);
}

bool Address::wildcard() const noexcept { return ip() == std::array<std::uint8_t, 16>{}; }

std::uint16_t Address::port() const noexcept {
  // Both families keep the port at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

void Address::set_port(std::uint16_t port) noexcept {
  reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = htons(port);
}

std::array<std::uint8_t, 16> Address::ip() const noexcept {
  std::array<std::uint8_t, 16> bytes{};
  if (v6()) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, 16);
  } else {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, 4);
  }
  return bytes;
}

std::string Address::text() const {
  char buffer[NI_MAXHOST] = "?";
  getnameinfo(get(), bytes(), buffer, sizeof buffer, nullptr, 0, NI_NUMERICHOST);
  return buffer;
}

namespace {
UdpSocket connected_to(const Address& destination) {
  UdpSocket probe(destination.v6());
  Address target = destination;
  if (target.port() == 0) target.set_port(9);  // connecting needs a port; nothing is sent
  if (connect(probe.fd(), target.get(), target.bytes()) != 0) {
    throw ResourceError(fmt::format("roce: no route to {}: {}; check the address and the network interface",
                                    destination.text(), errno_text(errno)));
  }
  return probe;
}
}  // namespace

Address local_towards(const Address& destination) {
  const UdpSocket probe = connected_to(destination);
  Address local = probe.local();
  local.set_port(0);
  return local;
}

std::uint32_t path_mtu(const Address& destination) {
  const UdpSocket probe = connected_to(destination);
  int mtu = 0;
  socklen_t size = sizeof mtu;
  const int failed = destination.v6() ? getsockopt(probe.fd(), IPPROTO_IPV6, IPV6_MTU, &mtu, &size)
                                      : getsockopt(probe.fd(), IPPROTO_IP, IP_MTU, &mtu, &size);
  if (failed != 0) {
    throw ResourceError(fmt::format("roce: cannot ask the MTU towards {}: {}", destination.text(), errno_text(errno)));
  }
  return static_cast<std::uint32_t>(mtu);
}

}  // namespace rashpa::link::roce
