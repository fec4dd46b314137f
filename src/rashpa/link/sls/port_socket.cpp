// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/port_socket.hpp"

#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <array>

#include "rashpa/link/sls/header.hpp"

namespace rashpa::link::sls {

namespace {

roce::Options intake_options(std::uint32_t payload, const Options& options) {
  roce::Options out;
  out.pmtu = payload + static_cast<std::uint32_t>(kHeaderBytes);
  out.gro = options.gro;
  return out;
}

}  // namespace

roce::UdpSocket PortSocket::bound(const std::string& address, std::uint16_t port, const Options& options) {
  const wire::Address at(address, port);
  roce::UdpSocket socket(at.v6(), "sls");
  socket.set_buffers(options.socket_buffer);
  socket.bind(at);
  return socket;
}

PortSocket::PortSocket(const std::string& address, std::uint16_t port, std::uint32_t payload, const Options& options)
    : socket_(bound(address, port, options)),
      intake_(socket_, intake_options(payload, options)),
      local_(socket_.local()) {}

std::span<const std::byte> PortSocket::peek(std::span<std::byte> room) noexcept {
  const ssize_t taken = recv(socket_.fd(), room.data(), room.size(), MSG_PEEK | MSG_DONTWAIT);
  return room.first(taken > 0 ? static_cast<std::size_t>(taken) : 0);
}

void PortSocket::discard() noexcept {
  std::byte one{};
  [[maybe_unused]] const ssize_t taken = recv(socket_.fd(), &one, 1, MSG_DONTWAIT | MSG_TRUNC);
}

std::uint64_t PortSocket::take_drops() noexcept {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket_.fd(), SOL_SOCKET, SO_MEMINFO, info.data(), &size) != 0) return 0;
  const std::uint32_t fresh = info[SK_MEMINFO_DROPS] - drops_;
  drops_ = info[SK_MEMINFO_DROPS];
  return fresh;
}

}  // namespace rashpa::link::sls
