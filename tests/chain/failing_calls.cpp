// SPDX-License-Identifier: Apache-2.0
#include "failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace rashpa::chain {
namespace {

constexpr int kNone = -1;
std::atomic<int> g_kind{kNone};
std::atomic<std::uint64_t> g_nth{0};
std::atomic<std::uint64_t> g_calls{0};
std::atomic<bool> g_lasting{false};
std::atomic<std::int64_t> g_live{0};

bool fails(Call call) noexcept {
  if (g_kind.load(std::memory_order_relaxed) != static_cast<int>(call)) return false;
  const std::uint64_t number = g_calls.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t nth = g_nth.load(std::memory_order_relaxed);
  return nth != 0 && (number == nth || (number > nth && g_lasting.load(std::memory_order_relaxed)));
}

template <typename Function>
Function system_call(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void* take(std::size_t bytes, std::size_t alignment) {
  if (fails(Call::memory)) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  g_live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

// Not inlined: the compiler would see memory of `new` go to `free`, which is what is meant here.
[[gnu::noinline]] void give(void* memory) noexcept {
  if (memory != nullptr) g_live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

mode_t mode_of(int flags, std::va_list& rest) noexcept {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

}  // namespace

std::string_view name_of(Call call) noexcept {
  constexpr std::string_view names[] = {"thread", "memory", "open", "rename", "sync", "map"};
  return names[static_cast<std::size_t>(call)];
}

void arm(Call call, std::uint64_t nth, bool lasting) noexcept {
  g_nth = nth;
  g_lasting = lasting;
  g_calls = 0;
  g_kind = static_cast<int>(call);
}

void disarm() noexcept { g_kind = kNone; }

std::uint64_t calls() noexcept { return g_calls; }

std::int64_t live() noexcept { return g_live; }

}  // namespace rashpa::chain

using rashpa::chain::Call;
using rashpa::chain::fails;
using rashpa::chain::system_call;

void* operator new(std::size_t bytes) { return rashpa::chain::take(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return rashpa::chain::take(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return rashpa::chain::take(bytes, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { rashpa::chain::give(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { rashpa::chain::give(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { rashpa::chain::give(memory); }
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  rashpa::chain::give(memory);
}

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*), void* with) noexcept {
  using Function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto system = system_call<Function>("pthread_create");
  return fails(Call::thread) ? EAGAIN : system(thread, how, work, with);
}

int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = rashpa::chain::mode_of(flags, rest);
  va_end(rest);
  static const auto system = system_call<int (*)(const char*, int, ...)>("open");
  if (!fails(Call::open)) return system(path, flags, mode);
  errno = EMFILE;
  return -1;
}

int open64(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = rashpa::chain::mode_of(flags, rest);
  va_end(rest);
  static const auto system = system_call<int (*)(const char*, int, ...)>("open64");
  if (!fails(Call::open)) return system(path, flags, mode);
  errno = EMFILE;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  static const auto system = system_call<int (*)(const char*, const char*)>("rename");
  if (!fails(Call::rename)) return system(from, to);
  errno = ENOSPC;
  return -1;
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  using Function = int (*)(int, const char*, int, const char*, unsigned);
  static const auto system = system_call<Function>("renameat2");
  if (!fails(Call::rename)) return system(from_folder, from, to_folder, to, flags);
  errno = ENOSPC;
  return -1;
}

int fsync(int file) {
  static const auto system = system_call<int (*)(int)>("fsync");
  if (!fails(Call::sync)) return system(file);
  errno = EIO;
  return -1;
}

int fdatasync(int file) {
  static const auto system = system_call<int (*)(int)>("fdatasync");
  if (!fails(Call::sync)) return system(file);
  errno = EIO;
  return -1;
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  using Function = void* (*)(void*, std::size_t, int, int, int, off_t);
  static const auto system = system_call<Function>("mmap");
  if (!fails(Call::map)) return system(at, bytes, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

}  // extern "C"
