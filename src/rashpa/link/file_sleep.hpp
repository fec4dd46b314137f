// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <string_view>

namespace rashpa::link {

/// The sleep of a link's thread that waits on a file for poll(): a socket, a completion channel.
class FileSleep {
 public:
  /// Opens the wake-up file. `link` is the name for messages. Throws ResourceError.
  explicit FileSleep(std::string_view link);
  ~FileSleep();
  FileSleep(const FileSleep&) = delete;
  FileSleep& operator=(const FileSleep&) = delete;

  /// Sleeps until `file` is readable, wake() is called or a millisecond has passed. It does not sleep if `news()`
  /// returns true after its sleep flag is visible. Returns true when the file is readable. Both orders are sequentially
  /// consistent: this thread stores its flag, then loads the news; the other thread stores the news before wake(),
  /// which loads the flag.
  template <typename News>
  bool sleep_unless(int file, const News& news) noexcept {
    asleep_.store(true, std::memory_order_seq_cst);
    const bool readable = !news() && wait(file);
    asleep_.store(false, std::memory_order_seq_cst);
    return readable;
  }
  /// Wakes the thread. Any thread calls it after it has stored news.
  void wake() noexcept;

 private:
  bool wait(int file) noexcept;
  std::atomic<bool> asleep_{false};  // seq_cst: a sleeper sets it, then looks; its waker makes news, then looks here
  int event_fd_;
};

}  // namespace rashpa::link
