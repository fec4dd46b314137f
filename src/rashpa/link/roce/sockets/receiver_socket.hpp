// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "rashpa/link/roce/packet_counters.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sockets/frame_intake.hpp"
#include "rashpa/link/roce/sockets/packet_socket.hpp"
#include "rashpa/link/roce/sockets/udp_intake.hpp"

namespace rashpa::link::roce {

/// Describes where one receiver thread's packets come in and its answers go out; the options choose the kind of
/// sockets, here and nowhere else. Not movable: the intake points into it.
class ReceiverSocket {
 public:
  /// `share`: the thread's queue pairs. Throws ConfigError or ResourceError.
  ReceiverSocket(const ReceiverConfig& config, std::uint32_t number, const QpnShare& share, PacketCounters& counters);
  ReceiverSocket(const ReceiverSocket&) = delete;
  ReceiverSocket& operator=(const ReceiverSocket&) = delete;

  [[nodiscard]] Intake& intake() noexcept { return *intake_; }
  /// Sends one answer, with v1 a whole frame; false when the system does not take it now. Does not wait.
  bool answer(std::span<const std::byte> packet, const wire::Address& to) noexcept;
  /// Many answers are sent from here.
  [[nodiscard]] int answer_fd() const noexcept { return udp_ ? udp_->fd() : frames_->fd(); }
  /// Returns how much of an answer's msg_name counts: a packet socket knows the way from the frame.
  [[nodiscard]] socklen_t name_bytes(const wire::Address& to) const noexcept { return udp_ ? to.bytes() : 0; }
  /// The port is 0 with v1.
  [[nodiscard]] const wire::Address& local() const noexcept { return local_; }
  /// A source's address; throws ConfigError when it is not of our kind.
  [[nodiscard]] wire::Address address_of(const Endpoint& source) const;
  /// The address that answers to `source` come from.
  [[nodiscard]] wire::Address answer_from(const wire::Address& source) const;
  /// The system's buffer for waiting packets, in bytes of its own accounting.
  [[nodiscard]] std::uint64_t receive_buffer() const noexcept { return receive_buffer_of(intake_->fd()); }

 private:
  Framing framing_;
  std::optional<UdpSocket> udp_;        // v2
  std::optional<PacketSocket> frames_;  // v1, and the full ICRC check on IPv4
  wire::Address local_;
  std::unique_ptr<Intake> intake_;
};

}  // namespace rashpa::link::roce
