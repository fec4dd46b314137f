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

/// A fixed set of threads that share the tasks of one phase at a time: the one class for such teams. Nothing is locked
/// and nothing allocated after construction, unless a task throws.
class Team {
 public:
  /// The work of a phase.
  class Work {
   public:
    virtual ~Work() = default;
    /// One task of the phase; several threads at once, each with its own `worker` number, up to threads(). Tasks of a
    /// phase that is waited for may throw.
    virtual void run(unsigned worker, std::uint32_t task) = 0;
    /// All tasks of the phase are done. Called once, by the thread that did the last one; may call publish().
    virtual void finished() noexcept {}
  };

  static constexpr std::uint32_t kMostTasks = (1U << 24U) - 4096;
  static constexpr unsigned kMostThreads = 1024;

  /// The threads run when the constructor returns. Their names are `name`-0 …; they are pinned from `first_processor`
  /// on when that is ≥ 0. Throws ResourceError when one cannot be started; those that were are ended before. 0 threads:
  /// those that wait do all.
  Team(unsigned threads, int first_processor, const std::string& name);
  /// Ends the threads; a phase that was published is finished before.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] unsigned threads() const noexcept { return static_cast<unsigned>(threads_.size()); }

  /// Starts a phase of `tasks` (1 … kMostTasks) tasks. Only while no phase is under way; `work` outlives it.
  void publish(Work& work, std::uint32_t tasks) noexcept;
  /// Waits until the phase that this thread has published has ended, and finished() has published none behind it.
  /// Throws the first exception of its tasks; those behind it may have been left out.
  void wait();
  /// A phase from its begin to its end. The caller does tasks, too, as worker number threads(). Throws as wait().
  void run(Work& work, std::uint32_t tasks);
  /// The same of `task(worker, number)`.
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
  /// Returns false when none was there.
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
