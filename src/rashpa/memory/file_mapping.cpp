// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/file_mapping.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

namespace rashpa::memory {
namespace {

constexpr std::size_t kMostWatched = 256;
constexpr std::uintptr_t kTaken = 1;  // of a place whose range is not said yet

/// One mapping as the handler sees it. `begin` is 0 where the place is free, and is set last.
struct Watched {
  std::atomic<std::uintptr_t> begin{0};  // release by the mapper, acquire by the handler of SIGBUS: the three below
  std::atomic<std::uintptr_t> end{0};
  std::atomic<int> protection{PROT_NONE};
  std::atomic<bool> cut{false};
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

std::array<Watched, kMostWatched> watched;  // NOLINT: a handler of signals reaches nothing else
struct sigaction before {};                 // NOLINT: the handler of SIGBUS until then
std::atomic<std::uintptr_t> page_bytes{0};  // NOLINT; relaxed: set before the handler is

/// Puts memory of zeros where a page of a watched file was. False: the address is of none.
bool replace_page(void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (Watched& one : watched) {
    const std::uintptr_t begin = one.begin.load(std::memory_order_acquire);
    const std::uintptr_t end = one.end.load(std::memory_order_relaxed);
    if (begin <= kTaken || at < begin || at >= end) continue;
    const std::uintptr_t into = at & (page_bytes.load(std::memory_order_relaxed) - 1);
    void* const there =
        ::mmap(static_cast<std::byte*>(address) - into, end - at + into, one.protection.load(std::memory_order_relaxed),
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (there == MAP_FAILED) return false;
    one.cut.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int code = errno;
  // Above 0 the kernel reports an access; a signal from a process has no address.
  const bool replaced = info->si_code > 0 && replace_page(info->si_addr);
  errno = code;
  if (replaced) return;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {  // the access is made again, and ends the process as it would have without us
    ::signal(number, SIG_DFL);
    if (info->si_code <= 0) ::raise(number);
  }
}

void handle_bus_errors() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction ours {};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigaction(SIGBUS, &ours, &before);
  });
}

/// A place that was free; kMostWatched when there is none.
std::size_t take_place() noexcept {
  for (std::size_t place = 0; place < kMostWatched; ++place) {
    std::uintptr_t free = 0;
    if (watched[place].begin.compare_exchange_strong(free, kTaken)) return place;
  }
  return kMostWatched;
}

}  // namespace

FileMapping::FileMapping(int file, std::size_t bytes, FileAccess access) noexcept {
  handle_bus_errors();
  const std::size_t place = take_place();
  if (place == kMostWatched) {
    errno = ENFILE;
    return;
  }
  const int protection = access == FileAccess::write ? PROT_READ | PROT_WRITE : PROT_READ;
  Watched& one = watched[place];
  // A writer must meet no page fault later; where this cannot be, the first access does it.
  const int populated = access == FileAccess::write ? MAP_POPULATE : 0;
  void* const memory = ::mmap(nullptr, bytes, protection, MAP_SHARED | populated, file, 0);
  if (memory == MAP_FAILED) {
    one.begin.store(0);
    return;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  one.cut.store(false, std::memory_order_relaxed);
  one.protection.store(protection, std::memory_order_relaxed);
  one.end.store(begin + bytes, std::memory_order_relaxed);
  one.begin.store(begin, std::memory_order_release);
  data_ = memory;
  bytes_ = bytes;
  watch_ = place;
}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), watch_(other.watch_) {}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(watch_, other.watch_);
  return *this;
}

FileMapping::~FileMapping() {
  if (data_ == nullptr) return;
  // First: another thread may map a file at the same address as soon as this one is gone.
  watched[watch_].begin.store(0, std::memory_order_release);
  ::munmap(data_, bytes_);
}

bool FileMapping::cut() const noexcept {
  return data_ != nullptr && watched[watch_].cut.load(std::memory_order_acquire);
}

}  // namespace rashpa::memory
