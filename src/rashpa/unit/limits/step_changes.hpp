// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace rashpa::unit {

/// Changes of steps that wait for the border between two stacks. The number of the first stack with a change is known
/// when the change is put in, even if no stack comes. A stack without a change costs one atomic addition.
template <typename Made>
class StepChanges {
 public:
  /// Adds a change. Returns the number of the first stack that has it: earlier stacks do not, later ones do. Any
  /// thread.
  std::uint64_t put(Made made) {
    return put(std::move(made), [](std::uint64_t) {});
  }
  /// Adds a change, and calls `told(first)` before the change is applied to that stack.
  template <typename Told>
  std::uint64_t put(Made made, Told&& told) {
    const std::lock_guard lock(lock_);
    Change& change = add(std::move(made));
    // acq_rel: the unit's thread adds to the same word; a stack that it begins behind this addition sees the mark.
    change.from = begun_.fetch_or(kWaiting, std::memory_order_acq_rel) / kOne;
    told(change.from);
    return change.from;
  }
  /// Adds a change where another object counts stacks; stack `first` and later ones have not begun here.
  void put_from(std::uint64_t first, Made made) {
    const std::lock_guard lock(lock_);
    add(std::move(made)).from = first;
    begun_.fetch_or(kWaiting, std::memory_order_acq_rel);  // as put()
  }

  /// Returns a unit::ReadyLimits that adds the change: by put_from() for a given number, otherwise by put().
  auto ready(Made made) {
    return [this, made = std::move(made)](std::optional<std::uint64_t> first) {
      if (!first) return put(made);
      put_from(*first, made);
      return *first;
    };
  }

  /// Counts a stack that begins, before its first image, in order. Returns true when apply() must be called. The thread
  /// that begins stacks calls it.
  [[nodiscard]] bool begin() noexcept { return (begun_.fetch_add(kOne, std::memory_order_acq_rel) & kWaiting) != 0; }

  /// Returns true when changes wait, for a thread that applies them later than at the begin of a stack.
  [[nodiscard]] bool waiting() const noexcept { return (begun_.load(std::memory_order_acquire) & kWaiting) != 0; }

  /// Calls `adopt(made)` for each change that begins with stack `number` or earlier and is not applied yet, in order.
  /// It returns false for a change whose turn comes later in the same stack. The thread that works on stacks calls it.
  template <typename Adopt>
  void apply(std::uint64_t number, Adopt&& adopt) noexcept {
    const std::lock_guard lock(lock_);
    bool left = false;
    for (Change& one : changes_) {
      if (one.done) continue;
      one.done = one.from <= number && adopt(one.made);
      left = left || !one.done;
    }
    // release: the next one that puts a change in, under the lock, finds the mark cleared.
    if (!left) begun_.fetch_and(~kWaiting, std::memory_order_release);
  }

 private:
  struct Change {
    std::uint64_t from = 0;
    bool done = false;
    Made made;
  };
  Change& add(Made made) {
    changes_.erase(std::remove_if(changes_.begin(), changes_.end(), [](const Change& one) { return one.done; }),
                   changes_.end());
    return changes_.emplace_back(Change{0, false, std::move(made)});
  }
  static constexpr std::uint64_t kWaiting = 1;
  static constexpr std::uint64_t kOne = 2;

  // Twice the number of stacks begun, and whether changes wait. acq_rel between the thread that begins stacks and those
  // that put changes in: all agree on the order of a mark and a beginning.
  std::atomic<std::uint64_t> begun_{0};
  std::mutex lock_;
  std::vector<Change> changes_;  // guarded by lock_; in order
};

}  // namespace rashpa::unit
