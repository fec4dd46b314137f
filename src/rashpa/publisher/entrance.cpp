// SPDX-License-Identifier: Apache-2.0
#include "rashpa/publisher/entrance.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "rashpa/core/error.hpp"

namespace rashpa::publisher {

namespace {

constexpr int kHandshakeMs = 5000;
constexpr int kKeepAliveIdleS = 60;  // a machine that has gone without a word gives its queue back after some minutes

}  // namespace

Entrance::Entrance(const ZeromqLibrary& zeromq, void* context, void* socket, int listener, unsigned most)
    : zeromq_(zeromq), socket_(socket), listener_(listener), most_(most) {
  const auto set = [&](int option, int value) { zeromq_.setsockopt(socket_, option, &value, sizeof value); };
  zeromq_.setsockopt(socket_, zeromq::kMostBytes, &kMostBytesFromOutside, sizeof kMostBytesFromOutside);
  set(zeromq::kReceiveRoom, kMostMessages);  // of a connection; the rest waits where it comes from
  set(zeromq::kHandshakeMs, kHandshakeMs);
  set(zeromq::kKeepAlive, 1);
  set(zeromq::kKeepAliveIdle, kKeepAliveIdleS);
  set(zeromq::kIpv6, 1);
  open(true);
  const std::string name = fmt::format("inproc://monitor-{}", static_cast<const void*>(this));
  constexpr int kEvents =
      zeromq::kAccepted | zeromq::kHandshakeSucceeded | zeromq::kHandshakeFailed | zeromq::kDisconnected;
  const bool watched = zeromq_.monitor(socket_, name.c_str(), kEvents) == 0;
  monitor_ = watched ? zeromq_.socket(context, zeromq::kPair) : nullptr;
  if (monitor_ != nullptr && zeromq_.connect(monitor_, name.c_str()) == 0 && bind()) return;
  const int code = zeromq_.error();
  if (monitor_ != nullptr) zeromq_.close(monitor_);
  throw ResourceError(fmt::format("zmq: the publisher cannot accept consumers: {}; check the limit of open files",
                                  zeromq_.error_text(code)));
}

Entrance::~Entrance() {
  zeromq_.monitor(socket_, nullptr, 0);
  zeromq_.close(monitor_);
}

// ZeroMQ closes what it is given, and does not look at the endpoint beyond its form.
bool Entrance::bind() {
  const int own = ::fcntl(listener_, F_DUPFD_CLOEXEC, 0);
  if (own < 0 || zeromq_.setsockopt(socket_, zeromq::kListener, &own, sizeof own) != 0) return false;
  if (zeromq_.bind(socket_, "tcp://127.0.0.1:*") == 0) return true;
  ::close(own);
  return false;
}

// ZeroMQ would end all connections with its listener, and turn round and round where it cannot accept. So the system
// drops what arrives for the listening socket, which it has in common with the processes that come later.
void Entrance::open(bool wide) noexcept {
  open_ = wide;
  sock_filter nothing{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const sock_fprog program{.len = 1, .filter = &nothing};
  const int unused = 0;
  if (wide) {
    ::setsockopt(listener_, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
  } else {
    ::setsockopt(listener_, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  }
}

// Two parts: the number of the event in 16 bits, and its peer.
std::optional<Entrance::Event> Entrance::next() noexcept {
  std::array<std::byte, 256> said{};
  while (zeromq_.recv(monitor_, said.data(), said.size(), zeromq::kDontWait) > 0) {
    std::uint16_t event = 0;
    std::memcpy(&event, said.data(), sizeof event);
    zeromq_.recv(monitor_, said.data(), said.size(), 0);
    if (event == zeromq::kAccepted) {
      connections_ += 1;
      continue;
    }
    if (event == zeromq::kDisconnected) {
      connections_ -= connections_ > 0 ? 1U : 0U;
      return Event::went;
    }
    return event == zeromq::kHandshakeSucceeded ? Event::came : Event::failed;
  }
  if (open_ != (connections_ < most_)) open(!open_);
  return std::nullopt;
}

void Subscriptions::count(std::span<const std::byte> message) {
  if (message.empty()) return;
  if (message[0] == std::byte{1}) there_ += 1;
  if (message[0] == std::byte{0} && there_ > 0) there_ -= 1;
  if (there_ > kMostSubscriptions)
    throw ResourceError(fmt::format("there were more than {} subscriptions at one socket; keep strangers from its port",
                                    kMostSubscriptions));
}

}  // namespace rashpa::publisher
