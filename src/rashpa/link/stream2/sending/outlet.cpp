// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/sending/outlet.hpp"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <new>

#include "rashpa/core/error.hpp"

namespace rashpa::link::stream2 {

Outlet::Outlet(const std::string& address) {
  const wire::Address at(address, 0);
  listener_ = FileDescriptor(::socket(at.v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (listener_.get() < 0 || ::bind(listener_.get(), at.get(), at.bytes()) != 0 || ::listen(listener_.get(), 4) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    throw ResourceError(fmt::format("stream2: {}: {}; give an address of this machine", address, errno_text(errno)));
  }
  local_ = wire::Address(name);
}

void Outlet::drop() noexcept {
  client_ = FileDescriptor();
  stage_ = Stage::nobody;
  heard_bytes_ = sent_ = 0;
}

bool Outlet::write(std::span<const std::byte> bytes) noexcept {
  return ::send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

// Lets a client in, and hears its greeting; its words behind that change nothing.
void Outlet::look() noexcept {
  const int came = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (came >= 0) {
    drop();
    client_ = FileDescriptor(came);
    const int yes = 1;
    setsockopt(came, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    stage_ = Stage::greeting;
    if (!write(zmtp::greeting())) return drop();
  }
  if (stage_ != Stage::greeting) return;
  const ssize_t got = ::recv(client_.get(), heard_.data() + heard_bytes_, heard_.size() - heard_bytes_, 0);
  if (got == 0) return drop();
  if (got < 0) return errno == EAGAIN ? void() : drop();
  heard_bytes_ += static_cast<std::size_t>(got);
  if (heard_bytes_ < heard_.size()) return;
  try {
    if (!zmtp::understood(heard_) || !write(zmtp::ready("PUSH"))) return drop();
  } catch (const std::bad_alloc&) {
    return drop();
  }
  stage_ = Stage::ready;
}

bool Outlet::send(std::span<const std::byte> message, bool more) noexcept {
  if (stage_ != Stage::ready || sent_ == 0) look();
  if (stage_ != Stage::ready) return false;
  head_ = zmtp::long_head(message.size(), more);
  while (sent_ < head_.size() + message.size()) {
    std::array<iovec, 2> pieces{};
    std::size_t count = 0;
    if (sent_ < head_.size()) pieces[count++] = {head_.data() + sent_, head_.size() - sent_};
    const std::size_t behind = sent_ > head_.size() ? sent_ - head_.size() : 0;
    pieces[count++] = {const_cast<std::byte*>(message.data()) + behind, message.size() - behind};  // NOLINT: it reads
    msghdr header{};
    header.msg_iov = pieces.data();
    header.msg_iovlen = count;
    const ssize_t went = ::sendmsg(client_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (went > 0) {
      sent_ += static_cast<std::size_t>(went);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      drop();
      return false;
    }
  }
  sent_ = 0;
  return true;
}

}  // namespace rashpa::link::stream2
