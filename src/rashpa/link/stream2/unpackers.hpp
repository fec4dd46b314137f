// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/stream2/buffer.hpp"
#include "rashpa/link/stream2/intake.hpp"

namespace rashpa::link::stream2 {

/// The unpacking threads. One thread passes messages to them and gets them back in the same order; no thread waits for
/// a lock.
class Unpackers {
 public:
  /// A message with its parts.
  struct Work {
    Buffer buffer;
    Parts parts;

   private:
    friend class Unpackers;
    std::atomic<bool> done{false};  // release by the thread that unpacked, acquire by the giver: the pixels
  };

  /// Starts `threads` ≥ 1 threads. Each calls `on_done` after a message. Throws ResourceError.
  Unpackers(std::uint32_t threads, int first_processor, std::function<void()> on_done);
  ~Unpackers();
  Unpackers(const Unpackers&) = delete;
  Unpackers& operator=(const Unpackers&) = delete;

  /// Returns room for the next message; null: all room is in use.
  [[nodiscard]] Work* room() noexcept;
  /// Releases the message in room() to the threads.
  void publish() noexcept;
  /// Returns the oldest message when it is unpacked, and null otherwise or when there is none. Call retire()
  /// afterwards.
  [[nodiscard]] Work* oldest() noexcept;
  void retire() noexcept { ++retired_; }
  /// Calls `work(parts)` for all messages that are not retired.
  template <typename Look>
  void each(const Look& look) noexcept {
    for (std::uint64_t n = retired_; n < published_.load(std::memory_order_relaxed); ++n) look(at(n).parts);
  }
  [[nodiscard]] bool idle() const noexcept { return retired_ == published_.load(std::memory_order_relaxed); }
  /// Ends the threads; messages that no thread has begun stay unchanged.
  void stop() noexcept;

 private:
  [[nodiscard]] Work& at(std::uint64_t number) noexcept { return works_[number % works_.size()]; }
  void run(std::uint32_t number, int processor) noexcept;

  std::vector<Work> works_;
  std::function<void()> on_done_;
  Doorbell bell_;
  std::atomic<bool> stop_{false};                        // relaxed: the owner sets it, wakes and joins
  std::uint64_t retired_ = 0;                            // the giver's
  alignas(64) std::atomic<std::uint64_t> published_{0};  // seq_cst by the giver, acquire by threads before they sleep
  alignas(64) std::atomic<std::uint64_t> claimed_{0};
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace rashpa::link::stream2
