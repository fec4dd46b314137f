// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/link/link.hpp"
#include "rashpa/memory/ring.hpp"

namespace rashpa::link {

/// The arrivals of one DTP on their way from its link's thread to the thread that takes them. No side ever waits: an
/// arrival without room stays with the link. Missing images in a row become one entry then, so that a source that is
/// too fast fills nothing.
class ArrivalQueue {
 public:
  /// Room for at least `capacity` entries. Twice the slots is enough for whatever is there at once: an image that is
  /// not missing has a slot.
  explicit ArrivalQueue(std::size_t capacity) : ring_(capacity) {}

  /// The link's thread: true when push() takes any arrival.
  [[nodiscard]] bool ready() noexcept { return flush() && !ring_.full(); }
  /// The link's thread: the DTP's next image. False, and nothing is taken, when there is no room; a missing image is
  /// taken anyway if it continues the run that waits, or nothing waits.
  bool push(const Arrival& arrival) noexcept {
    if (run_.images != 0) {
      if (arrival.completeness == Completeness::missing && arrival.loss == run_.first.loss) {
        ++run_.images;
        return true;
      }
      if (!flush()) return false;
    }
    const Run one{arrival, 1};
    if (ring_.try_push(one) == memory::Push::done) return true;
    if (arrival.completeness != Completeness::missing) return false;
    run_ = one;
    return true;
  }
  /// The link's thread: true when no run waits any more.
  bool flush() noexcept {
    if (run_.images != 0 && ring_.try_push(run_) == memory::Push::done) run_.images = 0;
    return run_.images == 0;
  }
  /// Returns true while a run waits for which there was no room. The link's thread calls it.
  [[nodiscard]] bool waiting() const noexcept { return run_.images != 0; }
  /// Any thread: entries that wait for the taker.
  [[nodiscard]] std::size_t entries() const noexcept { return ring_.size(); }

  /// The taking thread: the next image; null when there is none. Valid until pop().
  [[nodiscard]] const Arrival* front() noexcept {
    if (taken_.images == 0 && !ring_.try_pop(taken_)) return nullptr;
    return &taken_.first;
  }
  /// The taking thread, after front(): that image is done with.
  void pop() noexcept {
    ++taken_.first.index;
    --taken_.images;
  }

 private:
  struct Run {
    Arrival first{};
    std::uint64_t images = 0;  // of which all behind the first differ in their index alone
  };
  memory::Ring<Run> ring_;
  Run run_;                // the link's: missing images for which there was no room
  alignas(64) Run taken_;  // the taker's: the rest of the entry in hand
};

/// One queue for each DTP of a receiver, by its place in the receiver's list.
class ArrivalQueues {
 public:
  ArrivalQueues() = default;
  ArrivalQueues(std::size_t dtps, std::size_t capacity) {
    for (std::size_t d = 0; d < dtps; ++d) add(capacity);
  }
  /// Set-up: the next DTP's.
  void add(std::size_t capacity) { queues_.push_back(std::make_unique<ArrivalQueue>(capacity)); }

  [[nodiscard]] std::size_t size() const noexcept { return queues_.size(); }
  [[nodiscard]] ArrivalQueue& operator[](std::size_t dtp) noexcept { return *queues_[dtp]; }
  /// The taking thread: the next image of any DTP; false when there is none.
  bool try_pop(Arrival& out) noexcept {
    for (auto& queue : queues_) {
      const Arrival* arrival = queue->front();
      if (arrival == nullptr) continue;
      out = *arrival;
      queue->pop();
      return true;
    }
    return false;
  }

 private:
  std::vector<std::unique_ptr<ArrivalQueue>> queues_;
};

}  // namespace rashpa::link
