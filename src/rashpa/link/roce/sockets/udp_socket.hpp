// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>

#include "rashpa/wire/address.hpp"

namespace rashpa::link::roce {

/// Requests socket buffers of `bytes`; the system may give less (net.core.rmem_max limits users other than root).
void set_socket_buffers(int fd, std::uint32_t bytes) noexcept;
/// Returns the system's receive buffer, in bytes as the system counts them.
[[nodiscard]] std::uint64_t receive_buffer_of(int fd) noexcept;

/// An unconnected, non-blocking UDP socket. Its IPv4 packets have identification 0 (don't fragment), which a correct
/// ICRC needs. Movable, one owner.
class UdpSocket {
 public:
  /// Opens the socket. `link`, a literal, is the prefix of messages. Throws ResourceError.
  explicit UdpSocket(bool v6, std::string_view link = "roce");
  UdpSocket(UdpSocket&& other) noexcept : link_(other.link_), fd_(std::exchange(other.fd_, -1)) {}
  UdpSocket& operator=(UdpSocket&&) = delete;
  ~UdpSocket();

  /// Binds the socket. Throws ResourceError that names address and port when they are in use.
  void bind(const wire::Address& address);
  void set_buffers(std::uint32_t bytes) noexcept { set_socket_buffers(fd_, bytes); }
  /// Enables merged datagrams; returns false when the system does not support them.
  bool enable_gro() noexcept;
  /// Returns true when the system can cut datagrams (UDP_SEGMENT).
  [[nodiscard]] bool can_gso() const noexcept;
  /// Requests the destination address of each datagram, for sockets bound to a wildcard address.
  void enable_packet_info();
  /// Declares in the IP header that this end supports congestion marks: ECT(0).
  void send_ecn_capable() noexcept;
  /// Requests the traffic class of each datagram, in which routers mark congestion.
  void enable_marks() noexcept;
  /// Discards all further packets, because another socket reads them; this socket only keeps the port in use, so that
  /// they cause no ICMP error. Throws ResourceError.
  void refuse_everything();
  [[nodiscard]] wire::Address local() const;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  std::string_view link_;
  int fd_ = -1;
};

}  // namespace rashpa::link::roce
