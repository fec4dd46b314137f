// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrival_queue.hpp"
#include "rashpa/link/arrivals/assembly.hpp"

namespace rashpa::link {

/// Puts the arrivals of one link thread into the queues of its DTPs. Never waits.
class QueueOutput final : public ArrivalOutput {
 public:
  /// Makes the output of thread `thread`, which serves DTPs thread, thread + threads, … `together`: the DTPs form
  /// groups of this size.
  QueueOutput(ArrivalQueues& queues, Doorbell& bell, std::uint32_t thread = 0, std::uint32_t threads = 1,
              std::uint32_t together = 1) noexcept
      : queues_(&queues), bell_(&bell), thread_(thread), threads_(threads), together_(together) {}

  [[nodiscard]] bool ready(std::uint32_t dtp) noexcept override { return (*queues_)[dtp].ready(); }
  bool emit(const Arrival& arrival) noexcept override {
    ArrivalQueue& queue = (*queues_)[arrival.dtp];
    const bool taken = queue.push(arrival);
    pushed_ = true;
    waiting_ = waiting_ || queue.waiting();
    return taken;
  }
  void news() noexcept override { pushed_ = true; }
  /// Retries arrivals that waited for room, and rings the bell if an arrival was queued, or there were news, since the
  /// last call.
  void ring() noexcept {
    if (waiting_) flush();
    if (pushed_) bell_->ring();
    pushed_ = false;
  }

 private:
  void flush() noexcept {
    waiting_ = false;
    for (std::size_t dtp = 0; dtp < queues_->size(); ++dtp) {
      if (dtp / together_ % threads_ != thread_) continue;
      ArrivalQueue& queue = (*queues_)[dtp];
      if (!queue.waiting()) continue;
      if (queue.flush()) {
        pushed_ = true;
      } else {
        waiting_ = true;
      }
    }
  }

  ArrivalQueues* queues_;
  Doorbell* bell_;
  std::uint32_t thread_;
  std::uint32_t threads_;
  std::uint32_t together_;
  bool pushed_ = false;
  bool waiting_ = false;  // some run has found no room
};

}  // namespace rashpa::link
