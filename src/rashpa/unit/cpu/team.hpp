// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"

namespace rashpa::unit {

/// A fixed set of threads that share the tasks of one phase at a time. Nothing is locked and nothing allocated after
/// construction.
class Team {
 public:
  /// The work of the team.
  class Work {
   public:
    virtual ~Work() = default;
    /// One task of the current phase; several threads at once, each with its own `worker` number.
    virtual void run(unsigned worker, std::uint32_t task) noexcept = 0;
    /// All tasks of the phase are done. Called once, by the thread that did the last one; may call publish().
    virtual void finished() noexcept = 0;
  };

  static constexpr std::uint32_t kMostTasks = (1U << 24U) - 4096;
  static constexpr unsigned kMostThreads = 1024;

  /// The threads run when the constructor returns, named `name`-0 …, pinned from `first_processor` on when that is ≥ 0.
  Team(unsigned threads, int first_processor, Work& work, const std::string& name = "unit");
  /// Ends the threads; a phase that was published is finished before.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Starts a phase of `tasks` (1 … kMostTasks) tasks. Only while no phase is under way.
  void publish(std::uint32_t tasks) noexcept;

 private:
  void serve(unsigned worker) noexcept;
  [[nodiscard]] bool work_waits() const noexcept;
  void sleep_until_published() noexcept;

  Work& work_;
  // The phase and its tasks in one word, so that a thread can never take a task of a phase that has ended:
  // phase (16 bits) | tasks (24 bits) | next task (24 bits).
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};
  std::atomic<bool> stopping_{false};
  Doorbell bell_;
  std::latch running_;
  std::vector<std::jthread> threads_;
};

}  // namespace rashpa::unit
