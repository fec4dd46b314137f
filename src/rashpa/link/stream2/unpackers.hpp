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

/// The threads that unpack. One thread gives them messages and gets them back in the same order; nobody waits for a
/// lock.
class Unpackers {
 public:
  /// A message with the parts that it holds.
  struct Work {
    Buffer buffer;
    Parts parts;

   private:
    friend class Unpackers;
    std::atomic<bool> done{false};  // release by the thread that unpacked, acquire by the giver: the pixels
  };

  /// `threads` ≥ 1. `on_done` is called by each of them, behind a message. Throws ResourceError.
  Unpackers(std::uint32_t threads, int first_processor, std::function<void()> on_done);
  ~Unpackers();
  Unpackers(const Unpackers&) = delete;
  Unpackers& operator=(const Unpackers&) = delete;

  /// Room for the next message; null: all are at work.
  [[nodiscard]] Work* room() noexcept;
  /// The place that room() gave is filled.
  void publish() noexcept;
  /// The oldest message, when it is unpacked; null: it is not, or there is none. Then retire().
  [[nodiscard]] Work* oldest() noexcept;
  void retire() noexcept { ++retired_; }
  /// Calls `work(parts)` for all that are not retired.
  template <typename Look>
  void each(const Look& look) noexcept {
    for (std::uint64_t n = retired_; n < published_.load(std::memory_order_relaxed); ++n) look(at(n).parts);
  }
  [[nodiscard]] bool idle() const noexcept { return retired_ == published_.load(std::memory_order_relaxed); }
  /// Ends the threads; messages that nobody has begun stay as they are.
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
