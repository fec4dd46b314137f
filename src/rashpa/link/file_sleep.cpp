// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/file_sleep.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "rashpa/core/error.hpp"

namespace rashpa::link {

FileSleep::FileSleep(std::string_view link) : event_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (event_fd_ >= 0) return;
  throw ResourceError(fmt::format("{}: eventfd: {}; check the limit of open files", link, errno_text(errno)));
}

FileSleep::~FileSleep() {
  if (event_fd_ >= 0) ::close(event_fd_);
}

bool FileSleep::wait(int file) noexcept {
  constexpr int kLongestMs = 1;
  std::array<pollfd, 2> ready{{{file, POLLIN, 0}, {event_fd_, POLLIN, 0}}};
  if (poll(ready.data(), ready.size(), kLongestMs) <= 0) return false;
  if ((ready[1].revents & POLLIN) != 0) {
    std::uint64_t woken = 0;
    [[maybe_unused]] const auto size = read(event_fd_, &woken, sizeof woken);
  }
  return (ready[0].revents & POLLIN) != 0;
}

void FileSleep::wake() noexcept {
  if (!asleep_.load(std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto size = write(event_fd_, &one, sizeof one);
}

}  // namespace rashpa::link
