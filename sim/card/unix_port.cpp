// SPDX-License-Identifier: Apache-2.0
#include "unix_port.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "card_model.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::sim {

namespace {

constexpr int kRoom = 8 << 20;  // bytes of frames under way, in each direction

sockaddr_un name_of(const std::filesystem::path& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.native().size() >= sizeof name.sun_path) {
    throw ConfigError(fmt::format("card: '{}' is no name of a UNIX socket: 1 to {} bytes; give a shorter path",
                                  path.string(), sizeof name.sun_path - 1));
  }
  std::memcpy(name.sun_path, path.c_str(), path.native().size());
  return name;
}

const sockaddr* raw(const sockaddr_un& name) { return reinterpret_cast<const sockaddr*>(&name); }

}  // namespace

UnixPort::UnixPort(std::filesystem::path here, const std::filesystem::path& there)
    : here_(std::move(here)), there_(name_of(there)) {
  const sockaddr_un name = name_of(here_);
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) throw ResourceError(fmt::format("card: no UNIX socket: {}", errno_text(errno)));
  setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &kRoom, sizeof kRoom);
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kRoom, sizeof kRoom);
  if (bind(fd_, raw(name), sizeof name) != 0) {
    const int reason = errno;
    close(fd_);
    throw ResourceError(fmt::format("card: {}: the socket cannot be made: {}; is another card there?", here_.string(),
                                    errno_text(reason)));
  }
}

UnixPort::~UnixPort() {
  close(fd_);
  unlink(here_.c_str());
}

bool UnixPort::send(std::span<const std::byte> frame) {
  if (sendto(fd_, frame.data(), frame.size(), 0, raw(there_), sizeof there_) >= 0) return true;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return false;
  if (errno != ENOENT && errno != ECONNREFUSED) {
    throw ResourceError(
        fmt::format("card: a frame of {} bytes to {}: {}", frame.size(), there_.sun_path, errno_text(errno)));
  }
  ++refused_;
  return true;
}

void UnixPort::receive(CardModel& model) {
  for (;;) {
    const ssize_t got = recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (got < 0) return;
    model.receive(std::span(buffer_).first(static_cast<std::size_t>(got)));
  }
}

void UnixPort::wait(std::uint32_t microseconds) {
  pollfd polled{.fd = fd_, .events = POLLIN, .revents = 0};
  const timespec time{.tv_sec = microseconds / 1'000'000, .tv_nsec = 1'000L * (microseconds % 1'000'000)};
  ppoll(&polled, 1, &time, nullptr);
}

}  // namespace rashpa::sim
