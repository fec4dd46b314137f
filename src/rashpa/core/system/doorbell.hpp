// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace rashpa {

/// Wakes one sleeping thread of this process. Any thread rings; a ring costs no system call while nobody sleeps.
/// Use: `auto seen = bell.count(); if (nothing_to_do()) bell.wait(seen, timeout);`
class Doorbell {
 public:
  Doorbell() = default;
  /// Creates a doorbell whose rings also ring `behind`, which outlives it.
  explicit Doorbell(Doorbell& behind) noexcept : behind_(&behind) {}
  /// Wakes the sleeping thread. Any thread.
  void ring() noexcept;
  [[nodiscard]] std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  /// Sleeps until the count differs from `seen` or `timeout` has passed.
  void wait(std::uint32_t seen, std::chrono::nanoseconds timeout) noexcept;

 private:
  std::atomic<std::uint32_t> count_{0};  // seq_cst: a ringer counts, then looks for sleepers; a sleeper the reverse
  std::atomic<std::uint32_t> sleepers_{0};
  Doorbell* behind_ = nullptr;
};

}  // namespace rashpa
