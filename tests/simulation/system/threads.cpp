// SPDX-License-Identifier: Apache-2.0
/// Functions of libc for threads and locks, with those of the world.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdarg>

#include "system/system.hpp"

namespace rashpa::simulation {
namespace {

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

}  // namespace
}  // namespace rashpa::simulation

using namespace rashpa::simulation;  // NOLINT(google-build-using-namespace): functions of libc have no other place

extern "C" {

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

}  // extern "C"
