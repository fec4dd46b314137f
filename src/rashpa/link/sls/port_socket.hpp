// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/link/roce/sockets/udp_intake.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/sls/options.hpp"

namespace rashpa::link::sls {

/// The socket of one UDP port, with the kernel's count of datagrams for which it had no room. One thread; not movable.
class PortSocket {
 public:
  /// Opens the socket. `payload` is the bytes after a header. Throws ConfigError for an invalid address, ResourceError
  /// when the port is in use.
  PortSocket(const std::string& address, std::uint16_t port, std::uint32_t payload, const Options& options);
  PortSocket(const PortSocket&) = delete;
  PortSocket& operator=(const PortSocket&) = delete;

  /// Takes waiting datagrams, at most a batch. `drained`: there were no more.
  std::span<roce::Datagram> receive(bool& drained) noexcept { return intake_.receive(drained); }
  /// Copies the first bytes of the next datagram without taking it; empty when there is none.
  std::span<const std::byte> peek(std::span<std::byte> room) noexcept;
  /// Discards the next datagram.
  void discard() noexcept;
  /// Returns how many datagrams found no room since the last call: column `drops` of /proc/net/udp.
  [[nodiscard]] std::uint64_t take_drops() noexcept;

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  [[nodiscard]] const wire::Address& local() const noexcept { return local_; }
  [[nodiscard]] std::uint64_t buffer() const noexcept { return roce::receive_buffer_of(socket_.fd()); }

 private:
  static roce::UdpSocket bound(const std::string& address, std::uint16_t port, const Options& options);
  roce::UdpSocket socket_;
  roce::UdpIntake intake_;
  wire::Address local_;
  std::uint32_t drops_ = 0;  // of the kernel's count, which wraps
};

}  // namespace rashpa::link::sls
