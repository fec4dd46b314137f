// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/memory/ring.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit {

/// The way of stacks through a unit with threads of its own on a device: submitted, begun, handed back, and the two
/// ways in which that ends: a stop and a failure. Knows which images were to be processed, and nothing of how. Takes
/// all memory in its constructor. Threads: one submits, one takes, one of the unit begins stacks, one of the unit hands
/// them back in the order in which they were begun; fail(), error() and stop() are any thread's.
class StackFlow {
 public:
  /// Serves stacks of `stack` images, `stacks` of them in the ring. `name` begins the text of errors. `steps` and
  /// `done_bell`, which rings once for each stack that is handed back, outlive it.
  StackFlow(const Steps& steps, std::uint32_t stack, std::uint32_t stacks, std::string name, Doorbell& done_bell);

  /// Submits a stack, as Unit::submit() does. Images that need no work are settled; when the flow has ended, all others
  /// are settled, too.
  void submit(Stack* stack) noexcept {
    settle(*stack, ended());
    pass_on(stack);
  }
  /// The halves of submit(), for a unit that has something to do between them. `ended`: nothing more is to be begun.
  void settle(Stack& stack, bool ended) noexcept;
  void pass_on(Stack* stack) noexcept;
  /// Takes a stack back, as Unit::take() does.
  [[nodiscard]] Stack* take() noexcept;

  /// The next stack that was submitted; null: there is none.
  [[nodiscard]] Stack* begin() noexcept;
  /// Returns how often rest() was woken; before begin(), for rest().
  [[nodiscard]] std::uint32_t woken() const noexcept { return submitted_.count(); }
  /// Sleeps until something more is submitted or stop() is called, `longest` at most.
  void rest(std::uint32_t woken, std::chrono::nanoseconds longest) noexcept { submitted_.wait(woken, longest); }
  /// Returns which images of a stack the device was asked for, from submit() to hand_back(): not 0. The thread that has
  /// the stack may clear some.
  [[nodiscard]] std::span<std::uint8_t> asked(const Stack& stack) noexcept {
    return {asked_.data() + std::size_t{stack.slot} * stack_, stack.count};
  }
  /// Hands back a stack that is through. `lost`: nothing is known of the images that were asked for, which become
  /// errored; it is decided now.
  void hand_back(Stack& stack, bool lost) noexcept;

  /// Lets everything that is submitted from now on come back errored. The first reason counts.
  void fail(const std::string& why) noexcept;
  /// The name, and the reason; empty: it has not failed.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// The same, without a reason; wakes the thread that rests.
  void stop() noexcept;
  void wake() noexcept { submitted_.ring(); }
  /// Returns true when nothing more is to be begun.
  [[nodiscard]] bool ended() const noexcept { return failed() || stopping_.load(std::memory_order_acquire); }

 private:
  const Steps& steps_;
  const std::uint32_t stack_;
  const std::string name_;
  Doorbell& done_bell_;
  std::vector<std::uint8_t> asked_;  // [slot][image]
  memory::Ring<Stack*> in_;
  memory::Ring<Stack*> out_;
  Doorbell submitted_;
  std::atomic<bool> stopping_{false};  // release by the owner or a failing thread, acquire by the others of the unit
  std::atomic<bool> failed_{false};
  mutable std::mutex error_lock_;
  std::string error_;  // guarded by error_lock_
};

}  // namespace rashpa::unit
