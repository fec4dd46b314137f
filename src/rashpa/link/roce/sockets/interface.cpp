// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/interface.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"

namespace rashpa::link::roce {

namespace {

// Empty when there is no such Ethernet interface.
std::optional<Interface> ethernet(const std::string& name) {
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name) return std::nullopt;
  std::memcpy(request.ifr_name, name.data(), name.size());
  const UdpSocket any(false);
  Interface found;
  found.name = name;
  if (ioctl(any.fd(), SIOCGIFINDEX, &request) != 0) return std::nullopt;        // NOLINT: variadic by its nature
  found.index = request.ifr_ifindex;                                            // NOLINT: the kernel's union
  if (ioctl(any.fd(), SIOCGIFMTU, &request) != 0) return std::nullopt;          // NOLINT
  found.mtu = static_cast<std::uint32_t>(request.ifr_mtu);                      // NOLINT
  if (ioctl(any.fd(), SIOCGIFHWADDR, &request) != 0) return std::nullopt;       // NOLINT
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) return std::nullopt;        // NOLINT
  std::memcpy(found.mac.data(), request.ifr_hwaddr.sa_data, found.mac.size());  // NOLINT
  return found;
}

std::string own(const Interface& interface) {
  return wire::text_of(wire::gid_of(interface.mac)) + "%" + interface.name;
}

// The addresses that could be written here, in words.
std::string choices() {
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> names(::if_nameindex(), &if_freenameindex);
  constexpr int kMost = 4;
  std::string list;
  int count = 0;
  for (const auto* one = names.get(); one != nullptr && one->if_index != 0 && count < kMost; ++one) {
    const auto interface = ethernet(one->if_name);
    if (!interface) continue;
    list += (list.empty() ? "" : ", ") + own(*interface);
    ++count;
  }
  return list.empty() ? "this machine has no Ethernet interface" : "this machine has " + list;
}

}  // namespace

Interface interface_of(const std::string& text) {
  const std::size_t scope = text.find('%');
  if (scope == std::string::npos) {
    throw ConfigError(
        fmt::format("roce: framing v1 needs a link-local GID with its interface, not '{}'; {}", text, choices()));
  }
  const std::string name = text.substr(scope + 1);
  const auto interface = ethernet(name);
  if (!interface) throw ConfigError(fmt::format("roce: '{}': no Ethernet interface '{}'; {}", text, name, choices()));
  wire::Gid gid{};
  const bool read = inet_pton(AF_INET6, text.substr(0, scope).c_str(), gid.data()) == 1;
  if (!read || gid != wire::gid_of(interface->mac)) {
    throw ConfigError(fmt::format("roce: '{}' is not the GID of {}; write {}", text, name, own(*interface)));
  }
  return *interface;
}

}  // namespace rashpa::link::roce
