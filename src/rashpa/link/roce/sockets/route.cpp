// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/route.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"

namespace rashpa::link::roce {

namespace {
UdpSocket connected_to(const wire::Address& destination) {
  UdpSocket probe(destination.v6());
  wire::Address target = destination;
  if (target.port() == 0) target.set_port(9);  // connecting needs a port; nothing is sent
  if (connect(probe.fd(), target.get(), target.bytes()) != 0) {
    throw ResourceError(fmt::format("roce: no route to {}: {}; check the address and the network interface",
                                    destination.text(), errno_text(errno)));
  }
  return probe;
}
}  // namespace

wire::Address local_towards(const wire::Address& destination) {
  const UdpSocket probe = connected_to(destination);
  wire::Address local = probe.local();
  local.set_port(0);
  return local;
}

std::uint32_t path_mtu(const wire::Address& destination) {
  const UdpSocket probe = connected_to(destination);
  int mtu = 0;
  socklen_t size = sizeof mtu;
  const int failed = destination.v6() ? getsockopt(probe.fd(), IPPROTO_IPV6, IPV6_MTU, &mtu, &size)
                                      : getsockopt(probe.fd(), IPPROTO_IP, IP_MTU, &mtu, &size);
  if (failed != 0) {
    throw ResourceError(fmt::format("roce: the MTU towards {} cannot be read: {}; check the network interface",
                                    destination.text(), errno_text(errno)));
  }
  return static_cast<std::uint32_t>(mtu);
}

}  // namespace rashpa::link::roce
