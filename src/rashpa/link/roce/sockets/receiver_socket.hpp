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

/// The sockets by which one receiver thread takes packets and sends answers; the options choose their kind. Not
/// movable, because the intake points into it.
class ReceiverSocket {
 public:
  /// Opens the sockets. `share` is the thread's queue pairs. With `gather`, which outlives it, packets come into that
  /// one's pool. Throws ConfigError or ResourceError.
  ReceiverSocket(const ReceiverConfig& config, std::uint32_t number, const QpnShare& share, PacketCounters& counters,
                 memory::Gather* gather);
  ReceiverSocket(const ReceiverSocket&) = delete;
  ReceiverSocket& operator=(const ReceiverSocket&) = delete;

  [[nodiscard]] Intake& intake() noexcept { return *intake_; }
  /// Sends one answer, with v1 a whole frame; returns false when the system does not accept it now. Does not wait.
  bool answer(std::span<const std::byte> packet, const wire::Address& to) noexcept;
  /// Returns the file descriptor from which many answers are sent.
  [[nodiscard]] int answer_fd() const noexcept { return udp_ ? udp_->fd() : frames_->fd(); }
  /// Returns how many bytes of an answer's msg_name are valid: 0 for a packet socket, whose frames have the address.
  [[nodiscard]] socklen_t name_bytes(const wire::Address& to) const noexcept { return udp_ ? to.bytes() : 0; }
  /// Returns the local address; its port is 0 with v1.
  [[nodiscard]] const wire::Address& local() const noexcept { return local_; }
  /// Returns a source's address. Throws ConfigError when it is of another kind than this socket.
  [[nodiscard]] wire::Address address_of(const Endpoint& source) const;
  /// Returns the address from which answers to `source` come.
  [[nodiscard]] wire::Address answer_from(const wire::Address& source) const;
  /// Returns the system's buffer for received packets, in bytes as the system counts them.
  [[nodiscard]] std::uint64_t receive_buffer() const noexcept { return receive_buffer_of(intake_->fd()); }

 private:
  Framing framing_;
  std::optional<UdpSocket> udp_;        // v2
  std::optional<PacketSocket> frames_;  // v1, and the full ICRC check on IPv4
  wire::Address local_;
  std::unique_ptr<Intake> intake_;
};

}  // namespace rashpa::link::roce
