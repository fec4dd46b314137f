#include "rashpa/link/roce/gid.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/udp_socket.hpp"

namespace rashpa::link::roce {

namespace {

std::string text_of(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
  return text.data();
}

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

std::string own(const Interface& interface) { return text_of(gid_of(interface.mac)) + "%" + interface.name; }

// What could be written here, in words.
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

Gid gid_of(const MacAddress& mac) noexcept {
  constexpr std::uint8_t kLocal = 2;  // EUI-64 inverts this bit
  return {0xFE,   0x80,   0,    0,    0,      0,      0,     0, static_cast<std::uint8_t>(mac[0] ^ kLocal),
          mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]};
}

std::optional<MacAddress> mac_of(const Gid& gid) noexcept {
  const MacAddress mac{static_cast<std::uint8_t>(gid[8] ^ 2U), gid[9], gid[10], gid[13], gid[14], gid[15]};
  const bool station = (mac[0] & 1U) == 0 && mac != MacAddress{};
  if (!station || gid_of(mac) != gid) return std::nullopt;
  return mac;
}

Interface interface_of(const std::string& text) {
  const std::size_t scope = text.find('%');
  if (scope == std::string::npos) {
    throw ConfigError(
        fmt::format("roce: framing v1 needs a link-local GID with its interface, not '{}'; {}", text, choices()));
  }
  const std::string name = text.substr(scope + 1);
  const auto interface = ethernet(name);
  if (!interface) throw ConfigError(fmt::format("roce: '{}': no Ethernet interface '{}'; {}", text, name, choices()));
  Gid gid{};
  const bool read = inet_pton(AF_INET6, text.substr(0, scope).c_str(), gid.data()) == 1;
  if (!read || gid != gid_of(interface->mac)) {
    throw ConfigError(fmt::format("roce: '{}' is not the GID of {}; write {}", text, name, own(*interface)));
  }
  return *interface;
}

Address gid_address(const std::string& text) {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in6&>(storage);
  address.sin6_family = AF_INET6;
  const bool read = inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &address.sin6_addr) == 1;
  const Address gid(storage);
  if (!read || !mac_of(gid.ip())) {
    throw ConfigError(fmt::format(
        "roce: framing v1 finds the MAC address in the GID; '{}' holds none; write the other side's link-local GID, "
        "fe80:: and the EUI-64 form of its MAC address, such as {}",
        text, text_of(gid_of({0x0A, 0xEC, 0x0A, 0x01, 0x02, 0x03}))));
  }
  return gid;
}

}  // namespace rashpa::link::roce
