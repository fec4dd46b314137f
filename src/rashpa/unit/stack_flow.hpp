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

/// The path of stacks through a unit with its own threads on a device: submitted, begun, handed back, and its two ends:
/// a stop and a failure. It knows which images must be processed, but not how. The constructor takes all memory.
/// Threads: one submits, one takes; one of the unit begins stacks, one hands them back in the order in which they
/// began. Any thread may call fail(), error() and stop().
class StackFlow {
 public:
  /// Prepares for stacks of `stack` images, `stacks` of them in the ring. `name` is the prefix of errors. `steps` and
  /// `done_bell`, which rings once for each stack handed back, outlive the flow.
  StackFlow(const Steps& steps, std::uint32_t stack, std::uint32_t stacks, std::string name, Doorbell& done_bell);

  /// Submits a stack, as Unit::submit(). Images that need no work are settled; after the end of the flow, all images
  /// are.
  void submit(Stack* stack) noexcept {
    settle(*stack, ended());
    pass_on(stack);
  }
  /// Does the first half of submit(), for a unit with work between the halves. `ended`: no more work may begin.
  void settle(Stack& stack, bool ended) noexcept;
  void pass_on(Stack* stack) noexcept;
  /// Takes a finished stack, as Unit::take().
  [[nodiscard]] Stack* take() noexcept;

  /// Returns the next submitted stack; null: there is none.
  [[nodiscard]] Stack* begin() noexcept;
  /// Returns how often rest() was woken. Read it before begin(), for rest().
  [[nodiscard]] std::uint32_t woken() const noexcept { return submitted_.count(); }
  /// Sleeps until a stack is submitted or stop() is called, for at most `longest`.
  void rest(std::uint32_t woken, std::chrono::nanoseconds longest) noexcept { submitted_.wait(woken, longest); }
  /// Returns a byte for each image, not 0 when the device was asked for it, from submit() to hand_back(). The thread
  /// that has the stack may clear some.
  [[nodiscard]] std::span<std::uint8_t> asked(const Stack& stack) noexcept {
    return {asked_.data() + std::size_t{stack.slot} * stack_, stack.count};
  }
  /// Hands back a finished stack, which counts as decided now. `lost`: the requested images have no results, and become
  /// errored.
  void hand_back(Stack& stack, bool lost) noexcept;

  /// Ends the flow with an error: all stacks submitted from now on return errored. The first reason counts.
  void fail(const std::string& why) noexcept;
  /// Returns the name and the reason of the failure; empty: there was none.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Ends the flow without an error, and wakes the thread in rest().
  void stop() noexcept;
  void wake() noexcept { submitted_.ring(); }
  /// Returns true when no more work may begin.
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
