// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cstring>

#include "rashpa/core/error.hpp"

namespace rashpa::wire {

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

}  // namespace rashpa::wire
