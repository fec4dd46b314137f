// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/connection.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "rashpa/core/error.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::int64_t kAgainNs = 50'000'000;
constexpr int kReceiveBytes = 8 << 20;

}  // namespace

SenderAddress resolve(const Place& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found);
  if (code != 0 || found == nullptr) {
    throw ResourceError(fmt::format("stream2: address {}: {}; correct the name", place.host, gai_strerror(code)));
  }
  SenderAddress out;
  out.bytes = found->ai_addrlen;
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return out;
}

void Connection::watch(std::uint32_t events) noexcept {
  if (socket_.get() < 0) return;
  epoll_event event{};
  event.events = events;
  if (epoll_ctl(files_, EPOLL_CTL_MOD, socket_.get(), &event) != 0) {
    epoll_ctl(files_, EPOLL_CTL_ADD, socket_.get(), &event);
  }
}

void Connection::hold(bool held) noexcept {
  if (held_ == held) return;
  held_ = held;
  watch(held ? 0U : EPOLLIN);
}

void Connection::open(std::int64_t now) noexcept {
  if (now < again_ns_) return;
  again_ns_ = now + kAgainNs;
  socket_ = FileDescriptor(::socket(to_.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket_.get() < 0) return;
  const int yes = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
  const int code = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to_.storage), to_.bytes);
  if (code != 0 && errno != EINPROGRESS) {
    socket_ = FileDescriptor();
    return;
  }
  stage_ = Stage::connecting;
  ended_ = ready_ = held_ = false;
  filled_ = 0;
  watch(EPOLLOUT);
}

Connection::Got Connection::close(Got why) noexcept {
  const bool was_there = stage_ > Stage::connecting;
  socket_ = FileDescriptor();
  stage_ = Stage::closed;
  drained_ = true;
  buffer_.clear();
  return why == Got::lost && !was_there ? Got::nothing : why;
}

bool Connection::send(std::span<const std::byte> bytes) noexcept {
  return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

bool Connection::fill(std::span<std::byte> room) noexcept {
  while (filled_ < room.size()) {
    const ssize_t got = recv(socket_.get(), room.data() + filled_, room.size() - filled_, MSG_DONTWAIT);
    if (got > 0) {
      filled_ += static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    drained_ = true;
    ended_ = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return false;
  }
  filled_ = 0;
  return true;
}

Connection::Got Connection::pump(std::int64_t now) noexcept {
  if (stage_ == Stage::closed) open(now);
  if (stage_ == Stage::closed) return Got::nothing;
  if (stage_ == Stage::connecting) {
    int code = 0;
    socklen_t size = sizeof code;
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof peer;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) return close(Got::lost);
    if (getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) return Got::nothing;
    watch(EPOLLIN);
    if (!send(zmtp::greeting())) return close(Got::lost);
    stage_ = Stage::greeting;
  }
  drained_ = false;
  for (;;) {
    Got got = Got::nothing;
    switch (stage_) {
      case Stage::greeting:
        if (!fill(small_)) return ended_ ? close(Got::lost) : Got::nothing;
        got = on_greeting();
        break;
      case Stage::head:
        got = on_head();
        if (got == Got::nothing && stage_ == Stage::head) return Got::nothing;
        break;
      case Stage::body:
        got = on_body();
        if (got == Got::nothing && stage_ == Stage::body) return Got::nothing;
        break;
      case Stage::closed:
      case Stage::connecting:
        return Got::nothing;
    }
    if (got != Got::nothing) return got;
  }
}

Connection::Got Connection::on_greeting() noexcept {
  if (!zmtp::understood(small_)) return close(Got::refused);
  try {
    if (!send(zmtp::ready(pattern_ == Pattern::push ? "PULL" : "SUB"))) return close(Got::lost);
    if (pattern_ == Pattern::pub && !send(zmtp::subscribe_to_all())) return close(Got::lost);
  } catch (const std::bad_alloc&) {
    return close(Got::lost);
  }
  stage_ = Stage::head;
  return Got::nothing;
}

Connection::Got Connection::on_head() noexcept {
  const std::span<std::byte> small(small_);
  std::size_t bytes = 2;
  if (filled_ < bytes) {
    const bool there = fill(small.first(bytes));
    if (!there) return ended_ ? close(Got::lost) : Got::nothing;
    filled_ = bytes;
  }
  bytes = zmtp::head_bytes(small_[0]);
  if (bytes == 0) return close(Got::refused);
  if (filled_ == bytes) {
    filled_ = 0;
  } else if (!fill(small.first(bytes))) {
    return ended_ ? close(Got::lost) : Got::nothing;
  }
  head_ = zmtp::head_of(small.first(bytes));
  const bool fits = head_.command ? head_.bytes <= zmtp::kMostCommandBytes && buffer_.frames() == 0
                                  : ready_ && head_.bytes <= most_ - buffer_.size() && !buffer_.full();
  if (!fits) return close(Got::refused);
  stage_ = Stage::body;
  return Got::nothing;
}

Connection::Got Connection::on_body() noexcept {
  try {
    const std::span<std::byte> room = buffer_.room(head_.bytes);
    if (!fill(room)) return ended_ ? close(Got::lost) : Got::nothing;
    stage_ = Stage::head;
    if (head_.command) {
      ready_ = true;
      const auto answer = zmtp::pong(room);
      return answer.empty() || send(answer) ? Got::nothing : close(Got::lost);
    }
    buffer_.add_frame(head_.bytes);
    return head_.more ? Got::nothing : Got::message;
  } catch (const std::bad_alloc&) {
    return close(Got::refused);
  }
}

}  // namespace rashpa::link::stream2
