// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>

#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/roce/sockets/packet_socket.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/wire/frame_header.hpp"

namespace rashpa::link::roce {

/// One sender's socket: UDP, or with framing v1 a packet socket.
class SourceSocket {
 public:
  /// Opens the socket. Arriving packets are for queue pair `qpn`. Throws ConfigError when an address is of the wrong
  /// kind or the MTU too small, ResourceError when there is no socket or no route.
  SourceSocket(const SenderConfig& config, std::uint32_t qpn);

  [[nodiscard]] int fd() const noexcept { return udp_ ? udp_->fd() : frames_->fd(); }
  [[nodiscard]] const wire::Address& local() const noexcept { return local_; }
  [[nodiscard]] const wire::Address& destination() const noexcept { return destination_; }
  [[nodiscard]] bool can_gso() const noexcept { return udp_ && udp_->can_gso(); }
  /// Returns the header before each packet; nothing with v2.
  [[nodiscard]] std::optional<wire::FrameHeader> front() const;
  /// Removes the headers before the BTH of a received message and returns its sender in `from`; returns false when it
  /// is no packet.
  [[nodiscard]] bool unwrap(std::span<std::byte>& bytes, wire::Address& from) const noexcept;

 private:
  Framing framing_;
  wire::Address destination_;
  std::optional<UdpSocket> udp_;        // v2
  std::optional<PacketSocket> frames_;  // v1
  wire::Address local_;
};

}  // namespace rashpa::link::roce
