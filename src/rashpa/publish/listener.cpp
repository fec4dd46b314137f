// SPDX-License-Identifier: Apache-2.0
#include "rashpa/publish/listener.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "rashpa/core/error.hpp"

namespace rashpa::publish {

namespace {

constexpr std::string_view kScheme = "tcp://";
constexpr unsigned kLastPort = 65535;
/// Clients that connect while no child accepts, or while there are too many.
constexpr int kBacklog = 128;

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

/// Size 0: the address is none.
Address address_of(const Endpoint& endpoint) noexcept {
  Address found;
  if (endpoint.v6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(static_cast<std::uint16_t>(endpoint.port));
    if (::inet_pton(AF_INET6, endpoint.address.c_str(), &in.sin6_addr) == 1) found.size = sizeof in;
    std::memcpy(&found.bytes, &in, sizeof in);
  } else {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(endpoint.port));
    if (::inet_pton(AF_INET, endpoint.address.c_str(), &in.sin_addr) == 1) found.size = sizeof in;
    std::memcpy(&found.bytes, &in, sizeof in);
  }
  return found;
}

unsigned port_of(int file) noexcept {
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  if (::getsockname(file, reinterpret_cast<sockaddr*>(&bytes), &size) != 0) return 0;
  std::uint16_t port = 0;  // it lies at the same place for both families
  std::memcpy(&port, reinterpret_cast<const char*>(&bytes) + offsetof(sockaddr_in, sin_port), sizeof port);
  return ntohs(port);
}

}  // namespace

Endpoint endpoint_of(const std::string& text, std::string_view what) {
  Endpoint found;
  const std::size_t colon = text.rfind(':');
  const auto refused = [&] {
    return ConfigError(fmt::format("{}: {} is no endpoint; give tcp://ADDRESS:PORT", what, text));
  };
  if (!text.starts_with(kScheme) || colon < kScheme.size()) throw refused();
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data() + colon + 1, end, found.port);
  if (failure != std::errc() || rest != end || found.port > kLastPort) throw refused();
  found.address = text.substr(kScheme.size(), colon - kScheme.size());
  found.v6 = found.address.starts_with('[') && found.address.ends_with(']');
  if (found.v6) found.address = found.address.substr(1, found.address.size() - 2);
  if (address_of(found).size == 0) throw refused();
  return found;
}

std::string text_of(const Endpoint& endpoint) {
  return endpoint.v6 ? fmt::format("tcp://[{}]:{}", endpoint.address, endpoint.port)
                     : fmt::format("tcp://{}:{}", endpoint.address, endpoint.port);
}

Listener::Listener(const std::string& endpoint, std::string_view what) {
  Endpoint wanted = endpoint_of(endpoint, what);
  const Address address = address_of(wanted);
  file_ =
      FileDescriptor(::socket(wanted.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  const int yes = 1;
  if (file_.get() < 0 || ::setsockopt(file_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(file_.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 ||
      ::listen(file_.get(), kBacklog) != 0) {
    throw ConfigError(fmt::format(
        "{}: {} cannot be bound: {}; give tcp://, an address of this machine and a port that is free, or 0 for any",
        what, endpoint, errno_text(errno)));
  }
  wanted.port = port_of(file_.get());
  endpoint_ = text_of(wanted);
}

}  // namespace rashpa::publish
