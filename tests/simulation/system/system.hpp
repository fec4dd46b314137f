// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What functions of libc that the world answers have in common: those of libc itself, errors, and times.
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "network.hpp"
#include "world.hpp"

namespace rashpa::simulation {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr double kSeldom = 0.02;  // others run while a thread asks for the time
inline constexpr double kOften = 0.25;   // … while it takes or gives a lock, sends or receives

template <typename Function>
Function real(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

inline int said(int code) noexcept {
  errno = code;
  return -1;
}

inline std::int64_t ns_of(const timespec& time) noexcept { return time.tv_sec * kSecond + time.tv_nsec; }
inline timespec of_ns(std::int64_t ns) noexcept {
  return {.tv_sec = static_cast<time_t>(ns / kSecond), .tv_nsec = static_cast<long>(ns % kSecond)};
}
inline std::int64_t after(std::int64_t ns) noexcept {
  return ns >= kNever - world::now() ? kNever : world::now() + std::max<std::int64_t>(ns, 0);
}
// Of a time that a clock will show.
inline std::int64_t at_clock(clockid_t clock, const timespec& time) noexcept {
  return clock == CLOCK_REALTIME ? ns_of(time) - world::wall_ns() + world::now() : ns_of(time);
}

inline bool in_network(int fd) noexcept { return world::inside() && network() != nullptr && network()->has(fd); }

}  // namespace rashpa::simulation
