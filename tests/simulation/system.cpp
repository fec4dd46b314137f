// SPDX-License-Identifier: Apache-2.0
/// Stands between the whole program and the system, as tests/chain/failing_calls.cpp does: clocks, threads, locks,
/// sleeps, sockets and random numbers of a thread of the world come from the world; all other calls go on to libc.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <map>
#include <random>
#include <vector>

#include "disk.hpp"
#include "memory.hpp"
#include "network.hpp"
#include "world.hpp"

namespace rashpa::simulation {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kSeldom = 0.02;  // others run while a thread asks for the time
constexpr double kOften = 0.25;   // … while it takes or gives a lock, sends or receives

template <typename Function>
Function real(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int said(int code) noexcept {
  errno = code;
  return -1;
}

std::int64_t ns_of(const timespec& time) noexcept { return time.tv_sec * kSecond + time.tv_nsec; }
timespec of_ns(std::int64_t ns) noexcept {
  return {.tv_sec = static_cast<time_t>(ns / kSecond), .tv_nsec = static_cast<long>(ns % kSecond)};
}
std::int64_t after(std::int64_t ns) noexcept {
  return ns >= kNever - world::now() ? kNever : world::now() + std::max<std::int64_t>(ns, 0);
}
// Of a time that a clock will show.
std::int64_t at_clock(clockid_t clock, const timespec& time) noexcept {
  return clock == CLOCK_REALTIME ? ns_of(time) - world::wall_ns() + world::now() : ns_of(time);
}

// The flags of the counters that were made by threads of the world.
std::map<int, std::uint64_t>& counters() {
  static std::map<int, std::uint64_t> all;
  return all;
}

int lock(pthread_mutex_t* mutex) noexcept {
  static const auto attempt = real<int (*)(pthread_mutex_t*)>("pthread_mutex_trylock");
  for (;;) {
    const int result = attempt(mutex);
    if (result == 0) world::has_lock(1);
    if (result != EBUSY) return result;
    world::wait(mutex, kNever, "a lock");
  }
}

int unlock(pthread_mutex_t* mutex) noexcept {
  static const auto call = real<int (*)(pthread_mutex_t*)>("pthread_mutex_unlock");
  const int result = call(mutex);
  world::has_lock(-1);
  world::notify(mutex, INT_MAX);
  return result;
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t until) noexcept {
  unlock(mutex);
  const bool came = world::wait(condition, until, "a condition");
  lock(mutex);
  return came ? 0 : ETIMEDOUT;
}

template <typename Try>
int take(pthread_rwlock_t* lock, const Try& attempt) noexcept {
  for (;;) {
    const int result = attempt(lock);
    if (result != EBUSY) return result;
    world::wait(lock, kNever, "a shared lock");
  }
}

long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* limit) noexcept {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      world::pass(200, kOften);
      if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) return said(EAGAIN);
      std::int64_t until = kNever;
      if (limit != nullptr) {
        const clockid_t clock = (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        until = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT ? after(ns_of(*limit)) : at_clock(clock, *limit);
      }
      return world::wait(word, until, "a word in memory") ? 0 : said(ETIMEDOUT);
    }
    default: {
      const int woken = world::notify(word, static_cast<int>(std::min<std::uint32_t>(value, INT_MAX)));
      world::pass(200, kOften);
      return woken;
    }
  }
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

std::vector<std::byte> gathered(const msghdr& header) {
  std::vector<std::byte> all;
  for (std::size_t i = 0; i < header.msg_iovlen; ++i) {
    const auto* const from = static_cast<const std::byte*>(header.msg_iov[i].iov_base);
    all.insert(all.end(), from, from + header.msg_iov[i].iov_len);
  }
  return all;
}

std::size_t segment_of(const msghdr& header) noexcept {
  if (header.msg_controllen < sizeof(cmsghdr)) return 0;
  const cmsghdr* const option = CMSG_FIRSTHDR(&header);
  if (option == nullptr || option->cmsg_level != SOL_UDP || option->cmsg_type != UDP_SEGMENT) return 0;
  std::uint16_t segment = 0;
  std::memcpy(&segment, CMSG_DATA(option), sizeof segment);
  return segment;
}

bool in_network(int fd) noexcept { return world::inside() && network() != nullptr && network()->has(fd); }

}  // namespace
}  // namespace rashpa::simulation

using namespace rashpa::simulation;  // NOLINT(google-build-using-namespace): functions of libc have no other place

unsigned std::random_device::_M_getval() {
  return world::inside() ? static_cast<unsigned>(world::random()) : static_cast<unsigned>(::time(nullptr));
}

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto call = real<int (*)(clockid_t, timespec*)>("clock_gettime");
  if (!world::inside()) return call(clock, time);
  world::pass(40 + static_cast<std::int64_t>(world::now() % 41), kSeldom);
  *time = of_ns(clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? world::wall_ns() : world::now());
  return 0;
}

time_t time(time_t* out) noexcept {
  static const auto call = real<time_t (*)(time_t*)>("time");
  if (!world::inside()) return call(out);
  const auto now = static_cast<time_t>(world::wall_ns() / kSecond);
  if (out != nullptr) *out = now;
  return now;
}

int gettimeofday(timeval* __restrict out, void* __restrict zone) noexcept {
  static const auto call = real<int (*)(timeval*, void*)>("gettimeofday");
  if (!world::inside()) return call(out, zone);
  const std::int64_t now = world::wall_ns();
  out->tv_sec = static_cast<time_t>(now / kSecond);
  out->tv_usec = static_cast<suseconds_t>(now % kSecond / 1000);
  return 0;
}

int nanosleep(const timespec* wanted, timespec* left) {
  static const auto call = real<int (*)(const timespec*, timespec*)>("nanosleep");
  if (!world::inside()) return call(wanted, left);
  world::wait(nullptr, after(ns_of(*wanted) + 1000), "time");
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* left) {
  static const auto call = real<int (*)(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  if (!world::inside()) return call(clock, flags, wanted, left);
  world::wait(nullptr, (flags & TIMER_ABSTIME) != 0 ? at_clock(clock, *wanted) : after(ns_of(*wanted)), "time");
  return 0;
}

int sched_yield() noexcept {
  static const auto call = real<int (*)()>("sched_yield");
  if (!world::inside()) return call();
  world::pass(200, 1);
  return 0;
}

int sched_setaffinity(pid_t process, std::size_t bytes, const cpu_set_t* set) noexcept {
  static const auto call = real<int (*)(pid_t, std::size_t, const cpu_set_t*)>("sched_setaffinity");
  return world::inside() ? 0 : call(process, bytes, set);
}

int pthread_setaffinity_np(pthread_t thread, std::size_t bytes, const cpu_set_t* set) noexcept {
  static const auto call = real<int (*)(pthread_t, std::size_t, const cpu_set_t*)>("pthread_setaffinity_np");
  return world::inside() ? 0 : call(thread, bytes, set);
}

int get_nprocs() noexcept {
  static const auto call = real<int (*)()>("get_nprocs");
  return world::inside() ? 2 : call();
}

int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  static const auto call = real<int (*)(pthread_t, const char*)>("pthread_setname_np");
  if (!world::inside()) return call(thread, name);
  world::name_this(name);
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
  static const auto call = real<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return world::inside() ? world::create(thread, attributes, run, argument) : call(thread, attributes, run, argument);
}

int pthread_join(pthread_t thread, void** result) {
  static const auto call = real<int (*)(pthread_t, void**)>("pthread_join");
  return world::inside() ? world::join(thread, result) : call(thread, result);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto call = real<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  return world::inside() ? lock(mutex) : call(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static const auto call = real<int (*)(pthread_mutex_t*)>("pthread_mutex_trylock");
  const int result = call(mutex);
  if (result == 0 && world::inside()) world::has_lock(1);
  return result;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static const auto call = real<int (*)(pthread_mutex_t*)>("pthread_mutex_unlock");
  if (!world::inside()) return call(mutex);
  const int result = unlock(mutex);
  world::pass(100, kSeldom);
  return result;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static const auto call = real<int (*)(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  static const auto attempt = real<int (*)(pthread_rwlock_t*)>("pthread_rwlock_tryrdlock");
  return world::inside() ? take(lock, attempt) : call(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static const auto call = real<int (*)(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  static const auto attempt = real<int (*)(pthread_rwlock_t*)>("pthread_rwlock_trywrlock");
  return world::inside() ? take(lock, attempt) : call(lock);
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  static const auto call = real<int (*)(pthread_rwlock_t*)>("pthread_rwlock_unlock");
  const int result = call(lock);
  if (world::inside()) {
    world::notify(lock, INT_MAX);
    world::pass(100, kSeldom);
  }
  return result;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static const auto call = real<int (*)(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait");
  return world::inside() ? wait_for_condition(condition, mutex, kNever) : call(condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static const auto call = real<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
  return world::inside() ? wait_for_condition(condition, mutex, at_clock(CLOCK_REALTIME, *until))
                         : call(condition, mutex, until);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static const auto call =
      real<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  return world::inside() ? wait_for_condition(condition, mutex, at_clock(clock, *until))
                         : call(condition, mutex, clock, until);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  static const auto call = real<int (*)(pthread_cond_t*)>("pthread_cond_signal");
  if (!world::inside()) return call(condition);
  world::notify(condition, 1);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  static const auto call = real<int (*)(pthread_cond_t*)>("pthread_cond_broadcast");
  if (!world::inside()) return call(condition);
  world::notify(condition, INT_MAX);
  return 0;
}

long syscall(long number, ...) noexcept {
  static const auto call = real<long (*)(long, ...)>("syscall");
  std::va_list rest;
  va_start(rest, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(rest, long);
  va_end(rest);
  if (number != SYS_futex || !world::inside()) {
    return call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
  }
  return futex(reinterpret_cast<std::uint32_t*>(arguments[0]), static_cast<int>(arguments[1]),
               static_cast<std::uint32_t>(arguments[2]), reinterpret_cast<const timespec*>(arguments[3]));
}

int socket(int domain, int type, int protocol) noexcept {
  static const auto call = real<int (*)(int, int, int)>("socket");
  if (!world::inside() || network() == nullptr) return call(domain, type, protocol);
  if (domain != AF_INET || (type & SOCK_DGRAM) == 0) return said(EAFNOSUPPORT);
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) network()->open(fd);
  return fd;
}

int bind(int fd, const sockaddr* address, socklen_t bytes) noexcept {
  static const auto call = real<int (*)(int, const sockaddr*, socklen_t)>("bind");
  if (!in_network(fd)) return call(fd, address, bytes);
  const int code = network()->bind(fd, address);
  return code == 0 ? 0 : said(code);
}

int connect(int fd, const sockaddr* address, socklen_t bytes) {
  static const auto call = real<int (*)(int, const sockaddr*, socklen_t)>("connect");
  return in_network(fd) ? network()->connect(fd, address) : call(fd, address, bytes);
}

int getsockname(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  static const auto call = real<int (*)(int, sockaddr*, socklen_t*)>("getsockname");
  if (!in_network(fd)) return call(fd, address, bytes);
  const sockaddr_in name = network()->name(fd);
  std::memcpy(address, &name, sizeof name);
  *bytes = sizeof name;
  return 0;
}

int setsockopt(int fd, int level, int name, const void* value, socklen_t bytes) noexcept {
  static const auto call = real<int (*)(int, int, int, const void*, socklen_t)>("setsockopt");
  if (!in_network(fd)) return call(fd, level, name, value, bytes);
  int number = 0;
  std::memcpy(&number, value, std::min<std::size_t>(bytes, sizeof number));
  if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_RCVBUFFORCE)) {
    network()->set_buffer(fd, static_cast<std::size_t>(number));
  }
  if (level == IPPROTO_UDP && name == UDP_GRO) return said(ENOPROTOOPT);
  return 0;
}

int getsockopt(int fd, int level, int name, void* value, socklen_t* bytes) noexcept {
  static const auto call = real<int (*)(int, int, int, void*, socklen_t*)>("getsockopt");
  if (!in_network(fd)) return call(fd, level, name, value, bytes);
  int answer = 0;
  if (level == SOL_SOCKET && name == SO_RCVBUF) answer = static_cast<int>(network()->buffer(fd));
  if (level == IPPROTO_IP && name == IP_MTU) answer = static_cast<int>(network()->faults.mtu);
  if (level == IPPROTO_UDP && name == UDP_SEGMENT && !network()->faults.gso) return said(ENOPROTOOPT);
  std::memcpy(value, &answer, std::min<std::size_t>(*bytes, sizeof answer));
  return 0;
}

ssize_t sendto(int fd, const void* data, std::size_t bytes, int flags, const sockaddr* to, socklen_t to_bytes) {
  static const auto call = real<ssize_t (*)(int, const void*, std::size_t, int, const sockaddr*, socklen_t)>("sendto");
  if (!in_network(fd)) return call(fd, data, bytes, flags, to, to_bytes);
  world::pass(1000, kOften);
  const bool taken = network()->send(fd, to, {static_cast<const std::byte*>(data), bytes}, 0);
  return taken ? static_cast<ssize_t>(bytes) : said(EAGAIN);
}

int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  static const auto call = real<int (*)(int, mmsghdr*, unsigned, int)>("sendmmsg");
  if (!in_network(fd)) return call(fd, messages, count, flags);
  world::pass(1000, kOften);
  unsigned sent = 0;
  for (; sent < count; ++sent) {
    const msghdr& header = messages[sent].msg_hdr;
    const std::vector<std::byte> all = gathered(header);
    const auto* const to = static_cast<const sockaddr*>(header.msg_name);
    if (!network()->send(fd, to, all, segment_of(header))) break;
    messages[sent].msg_len = static_cast<unsigned>(all.size());
    world::pass(static_cast<std::int64_t>(all.size() / 8), 0);
  }
  return sent > 0 || count == 0 ? static_cast<int>(sent) : said(EAGAIN);
}

int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  static const auto call = real<int (*)(int, mmsghdr*, unsigned, int, timespec*)>("recvmmsg");
  if (!in_network(fd)) return call(fd, messages, count, flags, limit);
  world::pass(500, kOften);
  unsigned taken = 0;
  for (; taken < count; ++taken) {
    msghdr& header = messages[taken].msg_hdr;
    const std::span<std::byte> room(static_cast<std::byte*>(header.msg_iov->iov_base), header.msg_iov->iov_len);
    const std::ptrdiff_t bytes = network()->receive(fd, room, static_cast<sockaddr*>(header.msg_name));
    if (bytes < 0) break;
    messages[taken].msg_len = static_cast<unsigned>(bytes);
    header.msg_controllen = 0;
    if (header.msg_name != nullptr) header.msg_namelen = sizeof(sockaddr_in);
  }
  return taken > 0 ? static_cast<int>(taken) : said(EAGAIN);
}

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
  const disk::Answer answer = disk::write(bytes);
  if (answer.error != 0) return said(answer.error);
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  const ssize_t done = call(fd, data, answer.bytes);
  if (done > 0) disk::written(fd, static_cast<std::uint64_t>(at), static_cast<std::size_t>(done));
  return done;
}

ssize_t pwrite(int fd, const void* data, std::size_t bytes, off_t offset) {
  static const auto call = real<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite");
  if (!disk::guards(fd)) return call(fd, data, bytes, offset);
  const disk::Answer answer = disk::write(bytes);
  if (answer.error != 0) return said(answer.error);
  const ssize_t done = call(fd, data, answer.bytes, offset);
  if (done > 0) disk::written(fd, static_cast<std::uint64_t>(offset), static_cast<std::size_t>(done));
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
