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

PortSocket::PortSocket(const std::string& address, std::uint16_t port, std::uint32_t payload, const Options& options,
                       memory::Gather* gather)
    : socket_(bound(address, port, options)),
      intake_(socket_, intake_options(payload, options), gather),
      local_(socket_.local()),
      pieces_(intake_.batch()),
      taken_(intake_.batch()) {}

std::span<const Intake> PortSocket::receive(bool& drained) noexcept {
  const std::span<roce::Datagram> datagrams = intake_.receive(drained);
  if (datagrams.empty() && !drained) ++waits_;
  for (std::size_t i = 0; i < datagrams.size(); ++i) {
    pieces_[i] = datagrams[i].bytes;
    taken_[i] = {ScatteredBytes(std::span(pieces_).subspan(i, 1)), datagrams[i].segment};
  }
  return std::span(taken_).first(datagrams.size());
}

std::optional<std::span<const std::byte>> PortSocket::peek(std::span<std::byte> room) noexcept {
  const ssize_t taken = recv(socket_.fd(), room.data(), room.size(), MSG_PEEK | MSG_DONTWAIT);
  return taken < 0 ? std::nullopt : std::optional(room.first(static_cast<std::size_t>(taken)));
}

void PortSocket::discard() noexcept {
  std::byte one{};
  [[maybe_unused]] const ssize_t taken = recv(socket_.fd(), &one, 1, MSG_DONTWAIT | MSG_TRUNC);
}

void PortSocket::count_drops(PortCounters& counters) noexcept {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket_.fd(), SOL_SOCKET, SO_MEMINFO, info.data(), &size) != 0) return;
  const std::uint32_t dropped = info[SK_MEMINFO_DROPS] - drops_;
  counters.host_drops.add(dropped);
  if (waits_ != waited_) counters.gather_drops.add(dropped);
  counters.gather_waits.add(waits_ - waited_);
  waited_ = waits_;
  drops_ = info[SK_MEMINFO_DROPS];
}

}  // namespace rashpa::link::sls
