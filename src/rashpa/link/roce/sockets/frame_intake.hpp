// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/socket.h>

#include <array>
#include <vector>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/packet_counters.hpp"
#include "rashpa/link/roce/sockets/intake.hpp"
#include "rashpa/link/roce/sockets/packet_socket.hpp"
#include "rashpa/wire/frame_parser.hpp"

namespace rashpa::link::roce {

/// Takes frames with all their headers from a packet socket by recvmmsg.
class FrameIntake final : public Intake {
 public:
  /// Takes the memory. `socket` outlives the intake. v2: frames with a virtio_net_hdr, including merged ones; v1:
  /// without. Frames that are no packets count as malformed in `counters`.
  FrameIntake(const PacketSocket& socket, const Options& options, PacketCounters& counters);

  [[nodiscard]] int fd() const noexcept override { return socket_->fd(); }
  std::span<Datagram> receive(bool& drained) noexcept override;

 private:
  struct Control {
    alignas(cmsghdr) std::array<std::byte, 64> bytes;
  };
  [[nodiscard]] bool parse(mmsghdr& message, std::span<std::byte> bytes, wire::Frame& into) const noexcept;

  const PacketSocket* socket_;
  Framing framing_;
  PacketCounters* counters_;
  std::size_t most_;   // messages there is room for
  std::size_t batch_;  // messages that are asked for: few when they are long
  std::size_t buffer_bytes_;
  std::vector<std::byte> buffers_;
  std::vector<iovec> pieces_;
  std::vector<Control> controls_;
  std::vector<mmsghdr> messages_;
  std::vector<wire::Frame> frames_;
  std::vector<Datagram> datagrams_;
};

/// Returns true when a message of a packet socket has the tag of a VLAN and so belongs to another network. Priority
/// tags (VLAN 0) are removed, as the kernel does.
[[nodiscard]] bool of_another_vlan(const msghdr& header) noexcept;

}  // namespace rashpa::link::roce
