// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/gid.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cstring>

#include "rashpa/core/error.hpp"

namespace rashpa::wire {

std::string text_of(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
  return text.data();
}

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

}  // namespace rashpa::wire
