// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrival_queue.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/scheduler/lane.hpp"

namespace rashpa::scheduler {

/// The way in which the scheduler waits: polling on a core of its own, or asleep on the doorbell. Links have the same
/// choice.
using link::Poll;

/// The thread that turns arrivals into global events. It owns only its thread.
class Scheduler {
 public:
  /// Creates the scheduler. `queues` are those of all DTPs by position; `bell` is rung after each push. All outlive
  /// this object.
  Scheduler(std::vector<Lane*> lanes, link::ArrivalQueues& queues, Doorbell& bell, Poll poll, int processor);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void start();
  /// Ends the run: nothing more will be sent. `ends` has, by lane, the ends of lanes with an open end; empty: none is
  /// known. Any thread, one at a time; the first call counts.
  void finish(const std::vector<std::optional<std::uint64_t>>& ends = {});
  /// Calls hold_deadlines() of all lanes within the scheduler's next cycle. Any thread.
  void hold_deadlines(bool held) noexcept;
  /// Makes open images missing and joins the thread. The link must have stopped. Any thread except the scheduler's own.
  void stop() noexcept;

 private:
  struct Route {
    Lane* lane = nullptr;
    std::size_t dtp = 0;
  };
  void run();
  bool drain(std::int64_t now);

  std::vector<Lane*> lanes_;
  link::ArrivalQueues& queues_;
  std::vector<Route> routes_;  // by position: of each queue
  Doorbell& bell_;
  Poll poll_;
  int processor_;
  std::vector<std::optional<std::uint64_t>> ends_;  // by lane; set before finish_
  std::atomic<bool> held_{false};                   // release by the owner, acquire by the scheduler's thread
  std::atomic<bool> finish_{false};
  std::atomic<bool> stop_{false};
  std::jthread thread_;
};

}  // namespace rashpa::scheduler
