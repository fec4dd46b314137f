// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sleep flag of a thread, in memory shared with another process, so that a thread with news makes a system call
/// only when the owner sleeps. The flag is the futex itself. A wrong value by any writer is harmless: at worst a sleep
/// ends at once or lasts its full time.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace rashpa::link::pcie {

class SleepWord {
 public:
  /// Sleeps until wake() or for `longest` (less than a second). It does not sleep if `news()` returns true after the
  /// flag is visible. The owner calls it. Both orders are sequentially consistent: the owner stores its flag, then
  /// loads the news; the other thread stores the news before wake(), which loads the flag.
  template <typename News>
  void sleep_unless(const News& news, std::chrono::nanoseconds longest) noexcept {
    asleep_.store(1, std::memory_order_seq_cst);
    if (!news()) {
      const timespec limit{0, static_cast<long>(longest.count())};
      syscall(SYS_futex, &asleep_, FUTEX_WAIT, 1, &limit, nullptr, 0);
    }
    asleep_.store(0, std::memory_order_relaxed);
  }
  /// Returns true when the owner sleeps or is about to. Any thread; for tests.
  [[nodiscard]] bool asleep() const noexcept { return asleep_.load(std::memory_order_seq_cst) != 0; }
  /// Wakes the owner. Any thread calls it after it has stored news.
  void wake() noexcept {
    if (asleep_.load(std::memory_order_seq_cst) == 0) return;
    if (asleep_.exchange(0, std::memory_order_seq_cst) != 0) syscall(SYS_futex, &asleep_, FUTEX_WAKE, 1);
  }

 private:
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
  std::atomic<std::uint32_t> asleep_{0};  // seq_cst: a sleeper sets it, then looks; its waker makes news, then looks
};

}  // namespace rashpa::link::pcie
