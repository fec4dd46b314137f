// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>

#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/roce/sockets/packet_socket.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/wire/frame_header.hpp"

namespace rashpa::link::roce {

/// One sender's socket: UDP, or a packet socket with framing v1, chosen here and nowhere else.
class SourceSocket {
 public:
  /// Arrivals are for queue pair `qpn`. Throws ConfigError when an address is of the wrong kind or the MTU too
  /// small, ResourceError when there is no socket or no route.
  SourceSocket(const SenderConfig& config, std::uint32_t qpn);

  [[nodiscard]] int fd() const noexcept { return udp_ ? udp_->fd() : frames_->fd(); }
  [[nodiscard]] const wire::Address& local() const noexcept { return local_; }
  [[nodiscard]] const wire::Address& destination() const noexcept { return destination_; }
  [[nodiscard]] bool can_gso() const noexcept { return udp_ && udp_->can_gso(); }
  /// The header in front of every packet; empty with v2.
  [[nodiscard]] std::optional<wire::FrameHeader> front() const;
  /// Takes off what stands before the BTH of a message that came, and gives its sender; false when it is no packet.
  [[nodiscard]] bool unwrap(std::span<std::byte>& bytes, wire::Address& from) const noexcept;

 private:
  Framing framing_;
  wire::Address destination_;
  std::optional<UdpSocket> udp_;        // v2
  std::optional<PacketSocket> frames_;  // v1
  wire::Address local_;
};

}  // namespace rashpa::link::roce
