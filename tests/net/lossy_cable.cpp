// SPDX-License-Identifier: Apache-2.0
#include "lossy_cable.hpp"

#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <stdexcept>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::net {

namespace {

// In front of each frame: whose checksum is still to be made (virtio_net_hdr, whose header is not for C++).
constexpr std::size_t kOffload = 10;
constexpr std::int64_t kLongestNs = 1'000'000;  // a packet is held back
constexpr int kMostOvertaking = 4;

template <typename T>
bool set(int fd, int level, int option, T value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// All frames that come in by `interface` of this namespace, with their offload headers.
int open_interface(const std::string& interface) {
  constexpr int kBuffer = 32 << 20;
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  // Without the right to force it, the buffer is as large as the system allows.
  const bool ready = fd >= 0 && set(fd, SOL_PACKET, PACKET_VNET_HDR, 1) &&
                     set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) &&
                     (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, kBuffer) || set(fd, SOL_SOCKET, SO_RCVBUF, kBuffer)) &&
                     bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!ready) {
    const int code = errno;
    if (fd >= 0) close(fd);
    throw std::runtime_error(fmt::format("network: no packet socket on {}: {}", interface, errno_text(code)));
  }
  return fd;
}

bool is_roce(std::span<const std::byte> frame) {
  constexpr std::size_t kType = 12;
  constexpr std::size_t kProtocol4 = 14 + 9;
  constexpr std::size_t kProtocol6 = 14 + 6;
  constexpr unsigned kRoce1 = 0x8915;
  if (frame.size() <= kProtocol4) return false;
  const unsigned type = std::to_integer<unsigned>(frame[kType]) << 8 | std::to_integer<unsigned>(frame[kType + 1]);
  return type == kRoce1 || (type == ETH_P_IP && frame[kProtocol4] == std::byte{IPPROTO_UDP}) ||
         (type == ETH_P_IPV6 && frame[kProtocol6] == std::byte{IPPROTO_UDP});
}

}  // namespace

/// One direction. Used by the relay's thread, but for its counters.
class LossyCable::Way {
 public:
  /// `from`, `to`: file descriptors of packet sockets, the caller's.
  Way(int from, int to, const Wear& wear, std::uint64_t seed, Witness witness)
      : from_(from), to_(to), wear_(wear), random_(seed), witness_(std::move(witness)) {}

  void relay() {
    std::array<std::byte, 65536> buffer;  // NOLINT: filled by the kernel
    for (ssize_t size = 0; (size = recv(from_, buffer.data(), buffer.size(), 0)) > static_cast<ssize_t>(kOffload);) {
      one({buffer.data(), static_cast<std::size_t>(size)});
    }
    const std::int64_t now = now_ns();
    forward_held([now](const Held& held) { return now - held.since > kLongestNs; });
    tpacket_stats lost{};  // since the last look
    socklen_t bytes = sizeof lost;
    if (getsockopt(from_, SOL_PACKET, PACKET_STATISTICS, &lost, &bytes) == 0) overflowed_.add(lost.tp_drops);
  }
  [[nodiscard]] Worn worn() const {
    return {packets_.get(), dropped_.get(), duplicated_.get(), reordered_.get(), forwarded_.get(), overflowed_.get()};
  }

 private:
  struct Held {
    std::vector<std::byte> bytes;
    int overtaken = 0;  // by so many more
    std::int64_t since = 0;
  };

  void one(std::span<const std::byte> bytes) {
    const auto frame = bytes.subspan(kOffload);
    if (!is_roce(frame)) return send(bytes);
    // Drawn in any case: what becomes of a packet is a matter of its number alone.
    const bool drop = draw() < wear_.drop;
    const bool duplicate = draw() < wear_.duplicate;
    const bool reorder = draw() < wear_.reorder;
    const int overtaken = std::uniform_int_distribution(1, kMostOvertaking)(random_);
    packets_.add(1);
    if (witness_) witness_(frame, drop);
    if (drop) return dropped_.add(1);
    if (duplicate) {
      duplicated_.add(1);
      forward(bytes);
    }
    if (reorder) {
      reordered_.add(1);
      return held_.push_back({{bytes.begin(), bytes.end()}, overtaken, now_ns()});
    }
    forward(bytes);
    for (Held& held : held_) --held.overtaken;
    forward_held([](const Held& held) { return held.overtaken <= 0; });
  }
  double draw() { return std::uniform_real_distribution(0.0, 1.0)(random_); }

  template <typename Due>
  void forward_held(const Due& due) {
    for (const Held& held : held_) {
      if (due(held)) forward(held.bytes);
    }
    std::erase_if(held_, due);
  }
  void forward(std::span<const std::byte> bytes) {
    forwarded_.add(1);
    send(bytes);
  }
  void send(std::span<const std::byte> bytes) {
    if (::send(to_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) overflowed_.add(1);
  }

  int from_;
  int to_;
  Wear wear_;
  std::mt19937_64 random_;
  Witness witness_;
  std::vector<Held> held_;
  link::Counter packets_, dropped_, duplicated_, reordered_, forwarded_, overflowed_;
};

LossyCable::LossyCable(const Wear& there, const Wear& back, std::uint64_t seed, Witness there_witness) {
  for (const Host* host : {&one, &two}) {
    const std::string inner = "inner" + host->interface();
    host->run(fmt::format("ip link add {0} address {1} mtu 9000 type veth peer name {2} mtu 9000 netns {3}",
                          host->interface(), host->mac(), inner, middle_.path()));
    host->run(fmt::format("ip link set {} gso_max_segs 1", host->interface()));
    middle_.run(fmt::format("echo 1 > /proc/sys/net/ipv6/conf/{0}/disable_ipv6; ip link set {0} up", inner));
  }
  std::array<int, 2> sockets{-1, -1};
  middle_.within([&] {
    sockets[0] = open_interface("inner" + one.interface());
    try {
      sockets[1] = open_interface("inner" + two.interface());
    } catch (...) {
      close(sockets[0]);
      throw;
    }
  });
  there_ = std::make_unique<Way>(sockets[0], sockets[1], there, seed, std::move(there_witness));
  back_ = std::make_unique<Way>(sockets[1], sockets[0], back, ~seed, Witness{});
  relay_ = std::jthread([this, sockets](const std::stop_token& stop) {
    memory::place_this_thread("relay", 1);  // one that moves to another processor overtakes its own packets
    while (!stop.stop_requested()) {
      std::array<pollfd, 2> ready{{{sockets[0], POLLIN, 0}, {sockets[1], POLLIN, 0}}};
      poll(ready.data(), ready.size(), 1);
      there_->relay();
      back_->relay();
    }
    for (const int fd : sockets) close(fd);
  });
  bring_up();
}

LossyCable::~LossyCable() = default;

void LossyCable::cut() {
  relay_.request_stop();
  if (relay_.joinable()) relay_.join();
}

Worn LossyCable::there() const { return there_->worn(); }
Worn LossyCable::back() const { return back_->worn(); }

}  // namespace rashpa::net
