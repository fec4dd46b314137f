// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An AF_PACKET socket that takes the frames of one link thread and nothing else: the kernel filters (classic BPF), so
/// that other traffic costs no wake-up. Frames that this machine sends out are not taken; those that come in over a
/// veth pair or lo are.
#include <cstdint>
#include <utility>

#include "rashpa/link/roce/sockets/interface.hpp"
#include "rashpa/wire/address.hpp"
#include "rashpa/wire/gid.hpp"

namespace rashpa::link::roce {

/// Queue pairs first … first + count − 1 of which the thread serves those with (qpn − first) mod stride = phase.
struct QpnShare {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  std::uint32_t stride = 1;
  std::uint32_t phase = 0;
};

/// Non-blocking, movable, one owner. Making one needs CAP_NET_RAW: a ResourceError says what else to choose.
class PacketSocket {
 public:
  /// IPv4 UDP datagrams to `local`, address and port, on the interface that has the address and on lo; each frame
  /// behind a virtio_net_hdr. Of fragments only the first shows the port: later ones are not taken. A wildcard means
  /// every address that the machine has at this moment, each on its own interface and on lo. Throws ConfigError when
  /// those are too many, ResourceError when no interface has the address.
  static PacketSocket udp4(const wire::Address& local);
  /// RoCEv1 frames to `gid` on `interface` for the queue pairs in `share`; other queue pairs may be another receiver's.
  static PacketSocket roce1(const Interface& interface, const wire::Gid& gid, const QpnShare& share);

  PacketSocket(PacketSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PacketSocket& operator=(PacketSocket&&) = delete;
  ~PacketSocket();

  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  explicit PacketSocket(int fd) noexcept : fd_(fd) {}
  int fd_;
};

}  // namespace rashpa::link::roce
