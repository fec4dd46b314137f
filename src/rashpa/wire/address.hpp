// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <string>

namespace rashpa::wire {

/// An IPv4 or IPv6 address with a UDP port, in the form of socket calls.
class Address {
 public:
  Address() = default;
  /// Reads an address. Throws ConfigError when `text` is no numeric address.
  Address(const std::string& text, std::uint16_t port);
  explicit Address(const sockaddr_storage& storage) noexcept : storage_(storage) {}

  [[nodiscard]] bool v6() const noexcept { return storage_.ss_family == AF_INET6; }
  [[nodiscard]] bool wildcard() const noexcept;
  [[nodiscard]] std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  /// Returns the IP address: 4 bytes and 12 zeros, or 16 bytes.
  [[nodiscard]] std::array<std::uint8_t, 16> ip() const noexcept;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t bytes() const noexcept { return v6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

 private:
  sockaddr_storage storage_{};
};

}  // namespace rashpa::wire
