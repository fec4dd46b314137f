// SPDX-License-Identifier: Apache-2.0
/// Functions of libc for files: those of the simulated disk and network, and counters that wake a thread.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <span>

#include "disk.hpp"
#include "memory.hpp"
#include "system/system.hpp"

namespace rashpa::simulation {
namespace {

// The flags of the counters that were made by threads of the world.
std::map<int, std::uint64_t>& counters() {
  static std::map<int, std::uint64_t> all;
  return all;
}

short ready_of(const pollfd& file) noexcept {
  short ready = 0;
  if (network()->has(file.fd)) {
    if ((file.events & POLLIN) != 0 && network()->readable(file.fd)) ready |= POLLIN;
    if ((file.events & POLLOUT) != 0) ready |= POLLOUT;
  } else if (const auto found = counters().find(file.fd); found != counters().end()) {
    if ((file.events & POLLIN) != 0 && found->second != 0) ready |= POLLIN;
  }
  return ready;
}

std::span<const std::byte> bytes_of(const void* data, ssize_t bytes) noexcept {
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)};
}

int wait_for_files(pollfd* files, nfds_t count, std::int64_t until) noexcept {
  world::pass(500, kOften);
  for (;;) {
    int ready = 0;
    std::int64_t next = until;
    for (nfds_t i = 0; i < count; ++i) {
      files[i].revents = ready_of(files[i]);
      ready += files[i].revents != 0 ? 1 : 0;
      if (network()->has(files[i].fd)) next = std::min(next, network()->readable_at(files[i].fd));
    }
    if (ready > 0 || world::now() >= until) return ready;
    world::wait(network()->channel(), next, "files");
  }
}

}  // namespace
}  // namespace rashpa::simulation

using namespace rashpa::simulation;  // NOLINT(google-build-using-namespace): functions of libc have no other place

extern "C" {

int poll(pollfd* files, nfds_t count, int timeout_ms) {
  static const auto call = real<int (*)(pollfd*, nfds_t, int)>("poll");
  if (!world::inside() || network() == nullptr) return call(files, count, timeout_ms);
  return wait_for_files(files, count, timeout_ms < 0 ? kNever : after(timeout_ms * std::int64_t{1'000'000}));
}

int ppoll(pollfd* files, nfds_t count, const timespec* limit, const sigset_t* mask) {
  static const auto call = real<int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*)>("ppoll");
  if (!world::inside() || network() == nullptr) return call(files, count, limit, mask);
  return wait_for_files(files, count, limit == nullptr ? kNever : after(ns_of(*limit)));
}

int eventfd(unsigned value, int flags) noexcept {
  static const auto call = real<int (*)(unsigned, int)>("eventfd");
  const int fd = call(value, flags);
  const memory::Spared spared;
  if (world::inside() && fd >= 0) counters()[fd] = value;
  return fd;
}

int close(int fd) {
  static const auto call = real<int (*)(int)>("close");
  if (world::inside()) {
    counters().erase(fd);
    if (network() != nullptr) network()->close(fd);
  }
  return call(fd);
}

ssize_t read(int fd, void* data, std::size_t bytes) {
  static const auto call = real<ssize_t (*)(int, void*, std::size_t)>("read");
  if (!world::inside() || counters().count(fd) == 0) return call(fd, data, bytes);
  std::uint64_t& value = counters()[fd];
  if (value == 0) return said(EAGAIN);
  std::memcpy(data, &value, sizeof value);
  value = 0;
  return sizeof value;
}

ssize_t write(int fd, const void* data, std::size_t bytes) {
  static const auto call = real<ssize_t (*)(int, const void*, std::size_t)>("write");
  if (world::inside() && counters().count(fd) != 0) {
    counters()[fd] += 1;
    world::notify(network()->channel(), INT_MAX);
    return static_cast<ssize_t>(bytes);
  }
  if (!disk::guards(fd)) return call(fd, data, bytes);
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  const disk::Answer answer = disk::write(fd, static_cast<std::uint64_t>(at), bytes);
  if (answer.error != 0) return said(answer.error);
  const ssize_t done = call(fd, data, answer.bytes);
  if (done > 0) disk::written(fd, static_cast<std::uint64_t>(at), bytes_of(data, done));
  return done;
}

ssize_t pwrite(int fd, const void* data, std::size_t bytes, off_t offset) {
  static const auto call = real<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite");
  if (!disk::guards(fd)) return call(fd, data, bytes, offset);
  const disk::Answer answer = disk::write(fd, static_cast<std::uint64_t>(offset), bytes);
  if (answer.error != 0) return said(answer.error);
  const ssize_t done = call(fd, data, answer.bytes, offset);
  if (done > 0) disk::written(fd, static_cast<std::uint64_t>(offset), bytes_of(data, done));
  return done;
}

int rename(const char* from, const char* to) noexcept {
  static const auto call = real<int (*)(const char*, const char*)>("rename");
  disk::renaming(to);
  const int result = call(from, to);
  if (result == 0) disk::renamed(from, to);
  return result;
}

int renameat2(int old_folder, const char* from, int new_folder, const char* to, unsigned flags) noexcept {
  static const auto call = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  disk::renaming(to);
  const int result = call(old_folder, from, new_folder, to, flags);
  if (result == 0) disk::renamed(from, to);
  return result;
}

ssize_t pwrite64(int fd, const void* data, std::size_t bytes, off64_t offset) {
  return pwrite(fd, data, bytes, offset);
}

int fsync(int fd) {
  static const auto call = real<int (*)(int)>("fsync");
  if (!disk::guards(fd)) return call(fd);
  const int error = disk::sync(fd);
  return error == 0 ? 0 : said(error);
}

int fdatasync(int fd) {
  static const auto call = real<int (*)(int)>("fdatasync");
  if (!disk::guards(fd)) return call(fd);
  const int error = disk::sync(fd);
  return error == 0 ? 0 : said(error);
}

}  // extern "C"
