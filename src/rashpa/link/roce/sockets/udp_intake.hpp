// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/socket.h>

#include <array>
#include <optional>
#include <vector>

#include "rashpa/link/roce/sockets/intake.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/memory/gather/gather.hpp"

namespace rashpa::link::roce {

/// Takes datagrams from a UDP socket by recvmmsg, with UDP_GRO where requested and available.
class UdpIntake final : public Intake {
 public:
  /// Takes the memory. `socket` is bound and outlives the intake. With `gather`, which outlives it, too, datagrams come
  /// into that one's pool; while none of its buffers is free, receive() returns nothing, and not `drained`.
  UdpIntake(UdpSocket& socket, const Options& options, memory::Gather* gather = nullptr);

  [[nodiscard]] int fd() const noexcept override { return socket_->fd(); }
  std::span<Datagram> receive(bool& drained) noexcept override;
  /// Returns the most datagrams that receive() takes.
  [[nodiscard]] std::size_t batch() const noexcept { return batch_; }

 private:
  struct Control {
    alignas(cmsghdr) std::array<std::byte, 128> bytes;
  };
  void read_control(msghdr& header, std::size_t at) noexcept;

  UdpSocket* socket_;
  wire::Address local_;
  bool wildcard_;
  std::size_t batch_;
  std::size_t buffer_bytes_;
  std::vector<std::byte> buffers_;  // empty with a pool
  std::optional<memory::PacketPool> pool_;
  std::vector<wire::Address> sources_;
  std::vector<wire::Address> destinations_;  // a wildcard address has many
  std::vector<iovec> pieces_;
  std::vector<Control> controls_;
  std::vector<mmsghdr> messages_;
  std::vector<Datagram> datagrams_;
};

}  // namespace rashpa::link::roce
