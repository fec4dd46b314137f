// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>

#include "rashpa/wire/address.hpp"

namespace rashpa::link::roce {

/// Asks for socket buffers of `bytes`; the system may give less (net.core.rmem_max binds users other than root).
void set_socket_buffers(int fd, std::uint32_t bytes) noexcept;
/// The system's buffer for receiving, in bytes of its own accounting.
[[nodiscard]] std::uint64_t receive_buffer_of(int fd) noexcept;

/// One unconnected, non-blocking UDP socket whose IPv4 packets carry identification 0 (don't fragment), which a correct
/// ICRC needs. Movable, one owner.
class UdpSocket {
 public:
  /// `link`, a literal: the beginning of messages. Throws ResourceError.
  explicit UdpSocket(bool v6, std::string_view link = "roce");
  UdpSocket(UdpSocket&& other) noexcept : link_(other.link_), fd_(std::exchange(other.fd_, -1)) {}
  UdpSocket& operator=(UdpSocket&&) = delete;
  ~UdpSocket();

  /// Throws ResourceError that names address and port when it is taken.
  void bind(const wire::Address& address);
  void set_buffers(std::uint32_t bytes) noexcept { set_socket_buffers(fd_, bytes); }
  /// Takes merged datagrams; false when the system cannot.
  bool enable_gro() noexcept;
  /// Returns true when the system can cut datagrams (UDP_SEGMENT).
  [[nodiscard]] bool can_gso() const noexcept;
  /// Asks for the destination address of each datagram (sockets bound to a wildcard address).
  void enable_packet_info();
  /// Declares in the IP header that this end understands congestion marks: ECT(0).
  void send_ecn_capable() noexcept;
  /// Asks for the traffic class of each datagram, where routers mark congestion.
  void enable_marks() noexcept;
  /// Takes nothing from now on, for packets that another socket reads: the port stays in use, so that they provoke no
  /// ICMP error. Throws ResourceError.
  void refuse_everything();
  [[nodiscard]] wire::Address local() const;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  std::string_view link_;
  int fd_ = -1;
};

}  // namespace rashpa::link::roce
