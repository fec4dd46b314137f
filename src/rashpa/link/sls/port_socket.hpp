// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/link/roce/sockets/udp_intake.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/sls/options.hpp"
#include "rashpa/link/sls/port_intake.hpp"

namespace rashpa::link::sls {

/// The socket of one UDP port, with the kernel's count of datagrams for which it had no room. One thread; not movable.
class PortSocket final : public PortIntake {
 public:
  /// Opens the socket. `payload` is the bytes after a header. Throws ConfigError for an invalid address, ResourceError
  /// when the port is in use. With `gather`, which outlives it, datagrams come into that one's pool.
  PortSocket(const std::string& address, std::uint16_t port, std::uint32_t payload, const Options& options,
             memory::Gather* gather = nullptr);
  PortSocket(const PortSocket&) = delete;
  PortSocket& operator=(const PortSocket&) = delete;

  std::span<const Intake> receive(bool& drained) noexcept override;
  std::optional<std::span<const std::byte>> peek(std::span<std::byte> room) noexcept override;
  void discard() noexcept override;
  /// Counts datagrams that found no room: column `drops` of /proc/net/udp.
  void count_drops(PortCounters& counters) noexcept override;
  [[nodiscard]] int fd() const noexcept override { return socket_.fd(); }
  [[nodiscard]] std::uint64_t buffer() const noexcept override { return roce::receive_buffer_of(socket_.fd()); }
  [[nodiscard]] const wire::Address& local() const noexcept { return local_; }

 private:
  static roce::UdpSocket bound(const std::string& address, std::uint16_t port, const Options& options);
  roce::UdpSocket socket_;
  roce::UdpIntake intake_;
  wire::Address local_;
  std::vector<ScatteredBytes::Piece> pieces_;
  std::vector<Intake> taken_;
  std::uint64_t waits_ = 0;   // times that all buffers were in use …
  std::uint64_t waited_ = 0;  // … and those that were counted
  std::uint32_t drops_ = 0;   // of the kernel's count, which wraps
};

}  // namespace rashpa::link::sls
