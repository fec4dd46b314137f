// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An AF_PACKET socket that takes only the frames of one link thread. The kernel filters them (classic BPF), so that
/// other traffic causes no wake-up. It takes frames that come in, also over a veth pair or lo, but not those that this
/// machine sends out.
#include <cstdint>
#include <utility>

#include "rashpa/link/roce/sockets/interface.hpp"
#include "rashpa/wire/address.hpp"
#include "rashpa/wire/gid.hpp"

namespace rashpa::link::roce {

/// A share of the queue pairs first … first + count − 1: those with (qpn − first) mod stride = phase.
struct QpnShare {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  std::uint32_t stride = 1;
  std::uint32_t phase = 0;
};

/// A packet socket: non-blocking, movable, one owner. It needs CAP_NET_RAW; the ResourceError names an alternative.
class PacketSocket {
 public:
  /// Opens a socket for IPv4 UDP datagrams to the address and port of `local`, on the interface with that address and
  /// on lo. Each frame comes with a virtio_net_hdr. Fragments after the first do not show the port and are not taken. A
  /// wildcard means all present addresses of the machine, each on its own interface and on lo. Throws ConfigError when
  /// these are too many, ResourceError when no interface has the address.
  static PacketSocket udp4(const wire::Address& local);
  /// Opens a socket for RoCEv1 frames to `gid` on `interface` for the queue pairs in `share`; other receivers may use
  /// the other queue pairs.
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
