// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"

namespace rashpa::memory {

/// A fixed set of threads that share the tasks of one phase at a time, for all such teams of the program. Nothing
/// locks, or allocates after construction, unless a task throws.
class Team {
 public:
  /// The work of a phase.
  class Work {
   public:
    virtual ~Work() = default;
    /// Runs one task of the phase. Several threads call it at once, each with its own `worker` number, up to threads().
    /// Tasks may throw in a phase for which a thread waits.
    virtual void run(unsigned worker, std::uint32_t task) = 0;
    /// Called once when all tasks of the phase are done, by the thread that did the last one; may call publish().
    virtual void finished() noexcept {}
  };

  static constexpr std::uint32_t kMostTasks = (1U << 24U) - 4096;
  static constexpr unsigned kMostThreads = 1024;

  /// Starts the threads, named `name`-0 …; with `first_processor` ≥ 0 they are pinned from there on. Throws
  /// ResourceError when one cannot be started, after it has ended the others. 0 threads: waiting threads do all tasks.
  Team(unsigned threads, int first_processor, const std::string& name);
  /// Ends the threads, after a published phase is finished.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] unsigned threads() const noexcept { return static_cast<unsigned>(threads_.size()); }

  /// Starts a phase of `tasks` (1 … kMostTasks) tasks. No other phase may be active; `work` outlives it.
  void publish(Work& work, std::uint32_t tasks) noexcept;
  /// Waits until the phase published by this thread, and any that its finished() published, has ended. Throws the first
  /// exception of the tasks; later tasks may have been skipped.
  void wait();
  /// Runs a phase from begin to end. The caller does tasks, too, as worker number threads(). Throws as wait().
  void run(Work& work, std::uint32_t tasks);
  /// Runs `task(worker, number)` for all tasks of a phase.
  template <typename Task>
  void run(std::uint32_t tasks, Task&& task) {
    struct Called final : Work {
      explicit Called(Task& given) : task(given) {}
      void run(unsigned worker, std::uint32_t number) override { task(worker, number); }
      Task& task;
    } called(task);
    run(called, tasks);
  }

 private:
  void stop() noexcept;
  void serve(unsigned worker) noexcept;
  [[nodiscard]] bool work_waits() const noexcept;
  /// Does a task; returns false when there was none.
  bool take_task(unsigned worker) noexcept;
  void do_task(Work& work, unsigned worker, std::uint32_t task) noexcept;
  void sleep_until_published() noexcept;

  // The phase and its tasks in one word, so that a thread can never take a task of a phase that has ended:
  // phase (16 bits) | tasks (24 bits) | next task (24 bits). Release by the caller, acquire by its threads.
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};  // acq_rel by the threads: the caller sees their work
  std::atomic<bool> stopping_{false};                     // release by the owner, acquire by the threads that end
  std::atomic<bool> failed_{false};  // relaxed: `unfinished_` orders the failure that a thread has stored
  Work* work_ = nullptr;             // of the phase; read behind a task that was taken
  std::exception_ptr failure_;       // of the task that has set failed_
  std::uint32_t ended_before_ = 0;   // phases, when this one was published
  Doorbell bell_;                    // a phase has begun
  Doorbell ended_;                   // one has ended; counts them
  std::latch running_;               // threads that have their name and place
  std::vector<std::thread> threads_;
};

}  // namespace rashpa::memory
