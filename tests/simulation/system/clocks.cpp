// SPDX-License-Identifier: Apache-2.0
/// Functions of libc and libstdc++ for time, sleep and chance, with those of the world.
#include <sys/time.h>

#include <cstdint>
#include <ctime>
#include <random>

#include "system/system.hpp"

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

}  // extern "C"
