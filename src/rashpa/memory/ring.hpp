// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace rashpa::memory {

/// The result of a push into a ring.
enum class Push : std::uint8_t { done, full };

/// A ring between one producer thread and one consumer thread. The constructor takes all memory; neither side blocks,
/// locks or allocates. The data path uses two: one forward (work) and one back (free buffers).
template <typename T>
class Ring {
 public:
  /// Makes room for at least `capacity` items (rounded up to a power of two).
  explicit Ring(std::size_t capacity) : items_(std::bit_ceil(capacity < 2 ? 2 : capacity)), mask_(items_.size() - 1) {}

  /// Pushes an item if there is room. Producer thread only.
  [[nodiscard]] Push try_push(T item) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_seen_ > mask_) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head - tail_seen_ > mask_) return Push::full;
    }
    items_[head & mask_] = std::move(item);
    head_.store(head + 1, std::memory_order_release);
    return Push::done;
  }

  /// Pushes an item where there is always room by construction. A full ring ends the program, since otherwise a stack
  /// would be lost and the run would hang. Producer thread only.
  void push_must(T item) noexcept {
    if (try_push(std::move(item)) == Push::full) std::abort();
  }

  /// Returns true when there is no room; after false the next try_push() succeeds. Producer thread only.
  [[nodiscard]] bool full() noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_seen_ > mask_) tail_seen_ = tail_.load(std::memory_order_acquire);
    return head - tail_seen_ > mask_;
  }

  /// Pops an item; returns false when the ring is empty. Consumer thread only.
  bool try_pop(T& item) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_seen_) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (tail == head_seen_) return false;
    }
    item = std::move(items_[tail & mask_]);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// Returns the number of items; exact only when both sides are idle. Any thread.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_acquire);
    return static_cast<std::size_t>(head_.load(std::memory_order_acquire) - tail);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return items_.size(); }

 private:
  static constexpr std::size_t kLine = 64;
  std::vector<T> items_;
  std::uint64_t mask_;
  alignas(kLine) std::atomic<std::uint64_t> head_{0};  // release by the writer, acquire by the reader: entries stand
  std::uint64_t tail_seen_ = 0;                        // producer's copy
  alignas(kLine) std::atomic<std::uint64_t> tail_{0};  // release by the reader, acquire by the writer: places are free
  std::uint64_t head_seen_ = 0;                        // consumer's copy
};

}  // namespace rashpa::memory
