// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/link/link.hpp"
#include "rashpa/memory/ring.hpp"

namespace rashpa::link {

/// The queue of one DTP's arrivals from its link's thread to the thread that takes them. Neither thread waits: an
/// arrival without room stays with the link. Consecutive missing images then become one entry, so that a source that is
/// too fast cannot fill the queue.
class ArrivalQueue {
 public:
  /// Makes room for at least `capacity` entries. Twice the number of slots suffices, since each image that is not
  /// missing has a slot.
  explicit ArrivalQueue(std::size_t capacity) : ring_(capacity) {}

  /// Returns true when push() accepts any arrival. The link's thread calls it.
  [[nodiscard]] bool ready() noexcept { return flush() && !ring_.full(); }
  /// Adds the DTP's next image. Returns false, and takes nothing, when there is no room; a missing image is accepted
  /// anyway if it continues the waiting run, or nothing waits. The link's thread calls it.
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
  /// Moves the waiting run into the queue; returns true when none waits any more. The link's thread calls it.
  bool flush() noexcept {
    if (run_.images != 0 && ring_.try_push(run_) == memory::Push::done) run_.images = 0;
    return run_.images == 0;
  }
  /// Returns true while a run of missing images waits for room. The link's thread calls it.
  [[nodiscard]] bool waiting() const noexcept { return run_.images != 0; }
  /// Returns the number of entries in the queue. Any thread.
  [[nodiscard]] std::size_t entries() const noexcept { return ring_.size(); }

  /// Returns the next image, valid until pop(); null when there is none. The taking thread calls it.
  [[nodiscard]] const Arrival* front() noexcept {
    if (taken_.images == 0 && !ring_.try_pop(taken_)) return nullptr;
    return &taken_.first;
  }
  /// Removes the image of front(). The taking thread calls it.
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

/// The queues of a receiver, one for each DTP by its place in the receiver's list.
class ArrivalQueues {
 public:
  ArrivalQueues() = default;
  ArrivalQueues(std::size_t dtps, std::size_t capacity) {
    for (std::size_t d = 0; d < dtps; ++d) add(capacity);
  }
  /// Adds the next DTP's queue. Set-up only.
  void add(std::size_t capacity) { queues_.push_back(std::make_unique<ArrivalQueue>(capacity)); }

  [[nodiscard]] std::size_t size() const noexcept { return queues_.size(); }
  [[nodiscard]] ArrivalQueue& operator[](std::size_t dtp) noexcept { return *queues_[dtp]; }
  /// Takes the next image of any DTP; returns false when there is none. The taking thread calls it.
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
