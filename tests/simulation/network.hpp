// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The network between simulated processes: UDP sockets of one address, queues with a limit, and faults by the seed.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "world.hpp"

namespace rashpa::simulation {

/// Probabilities are per packet. Times are virtual nanoseconds.
struct NetworkFaults {
  double drop = 0, duplicate = 0, reorder = 0, corrupt = 0;
  double drop_answers = 0;         ///< of packets to sources: credits and acknowledgements
  double full = 0;                 ///< of sends: the socket has no room for now
  std::int64_t delay_ns = 5'000;   ///< of each packet
  std::int64_t jitter_ns = 0;      ///< more, at most; the order stays as it is
  std::int64_t late_ns = 200'000;  ///< of a packet that others overtake, and of a copy: at most
  std::uint32_t mtu = 65'535;
  bool gso = true;
};

/// What the network did to the images of one queue pair, in the order in which they were sent.
struct PathLog {
  std::uint64_t images = 0;    ///< up to the latest of which an event was sent, be it one that it is left out
  std::vector<bool> harmed{};  ///< by image: something of it did not arrive intact
  std::uint64_t lost = 0, corrupted = 0;  ///< packets
  bool unordered = false;                 ///< packets have overtaken others, or came twice
};

/// All calls from threads of the world.
class Network {
 public:
  explicit Network(std::uint64_t seed) : dice_(seed, "network") {}
  NetworkFaults faults{};
  /// Nothing passes until then.
  std::int64_t parted_until = 0;

  [[nodiscard]] bool has(int fd) const noexcept { return sockets_.count(fd) != 0; }
  void open(int fd);
  void close(int fd) noexcept { sockets_.erase(fd); }
  /// Those of a killed process hear nothing, and their ports are free.
  void close_all(Process process) noexcept;
  int bind(int fd, const sockaddr* address);
  int connect(int fd, const sockaddr* address);
  [[nodiscard]] sockaddr_in name(int fd) const;
  void set_buffer(int fd, std::size_t bytes);
  [[nodiscard]] std::size_t buffer(int fd) const;
  /// False: the socket is full for now.
  bool send(int fd, const sockaddr* to, std::span<const std::byte> datagram, std::size_t segment);
  /// Bytes of the next datagram, cut to the room; −1: there is none.
  std::ptrdiff_t receive(int fd, std::span<std::byte> room, sockaddr* from);
  [[nodiscard]] bool readable(int fd) const;
  /// When it becomes so by what is on its way.
  [[nodiscard]] std::int64_t readable_at(int fd) const;
  [[nodiscard]] std::size_t sockets() const noexcept { return sockets_.size(); }
  /// By port and queue pair of the receiver.
  [[nodiscard]] const PathLog* log(std::uint16_t port, std::uint32_t qpn) const;
  /// A channel that is notified with everything that arrives.
  [[nodiscard]] const void* channel() const noexcept { return &sockets_; }

 private:
  struct Packet {
    std::int64_t at = 0;
    sockaddr_in from{};
    std::vector<std::byte> bytes;
  };
  struct Socket {
    Process process = 0;
    sockaddr_in local{};
    std::size_t limit = 212'992;
    std::size_t held = 0;
    std::deque<Packet> queue;  // by time
    std::int64_t last = 0;
  };
  Socket* at_port(std::uint16_t port) noexcept;
  void carry(const Socket& from, std::uint16_t port, std::span<const std::byte> packet);
  void put(Socket& to, Packet packet, bool may_overtake);

  Dice dice_;
  std::map<int, Socket> sockets_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, PathLog> logs_;
  std::uint16_t next_port_ = 40'000;
};

/// The network of the world; null before there is one.
Network*& network() noexcept;

}  // namespace rashpa::simulation
