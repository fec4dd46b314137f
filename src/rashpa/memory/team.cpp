// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/team.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::memory {

namespace {

constexpr unsigned kTaskBits = 24;
constexpr std::uint64_t kTaskMask = (1U << kTaskBits) - 1;

constexpr std::uint64_t tasks_of(std::uint64_t ticket) noexcept { return (ticket >> kTaskBits) & kTaskMask; }
constexpr std::uint64_t next_of(std::uint64_t ticket) noexcept { return ticket & kTaskMask; }

}  // namespace

Team::Team(unsigned threads, int first_processor, const std::string& name) : running_(threads) {
  try {
    threads_.reserve(threads);
    for (unsigned worker = 0; worker < threads; ++worker) {
      const int processor = first_processor < 0 ? -1 : first_processor + static_cast<int>(worker);
      threads_.emplace_back([this, worker, processor, own = fmt::format("{}-{}", name, worker)] {
        place_this_thread(own, processor);
        running_.count_down();
        serve(worker);
      });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size();
    stop();
    throw ResourceError(
        fmt::format("{}: thread {} of {} does not start: {}; take fewer threads, or raise the limit of "
                    "processes (ulimit -u)",
                    name, started + 1, threads, errno_text(error.code().value())));
  } catch (...) {
    stop();
    throw;
  }
  running_.wait();
}

Team::~Team() { stop(); }

void Team::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  bell_.ring();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Team::publish(Work& work, std::uint32_t tasks) noexcept {
  work_ = &work;
  ended_before_ = ended_.count();
  unfinished_.store(tasks, std::memory_order_relaxed);
  const std::uint64_t phase = (ticket_.load(std::memory_order_relaxed) >> (2 * kTaskBits)) + 1;
  ticket_.store((phase << (2 * kTaskBits)) | (std::uint64_t{tasks} << kTaskBits), std::memory_order_release);
  bell_.ring();
}

void Team::wait() {
  while (ended_.count() == ended_before_) ended_.wait(ended_before_, std::chrono::milliseconds(100));
  if (failed_.exchange(false, std::memory_order_relaxed)) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::run(Work& work, std::uint32_t tasks) {
  publish(work, tasks);
  while (take_task(threads())) {
  }
  wait();
}

bool Team::work_waits() const noexcept {
  const std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  return next_of(ticket) < tasks_of(ticket);
}

bool Team::take_task(unsigned worker) noexcept {
  if (!work_waits()) return false;
  // A thread goes by the result of the addition, not by its earlier read: the phase may have changed in between.
  // Threads that come too late add a few to a phase that is used up, which kMostTasks leaves room for.
  const std::uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
  if (next_of(ticket) >= tasks_of(ticket)) return true;
  Work& work = *work_;  // the phase does not end before this task is done
  do_task(work, worker, static_cast<std::uint32_t>(next_of(ticket)));
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    work.finished();
    ended_.ring();
  }
  return true;
}

void Team::do_task(Work& work, unsigned worker, std::uint32_t task) noexcept {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    work.run(worker, task);
  } catch (...) {
    if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
  }
}

void Team::serve(unsigned worker) noexcept {
  for (;;) {
    if (take_task(worker)) continue;
    if (stopping_.load(std::memory_order_acquire)) return;
    sleep_until_published();
  }
}

void Team::sleep_until_published() noexcept {
  constexpr int kSpins = 400;  // about 10 µs: the next phase of the same stack follows at once
  const std::uint32_t seen = bell_.count();
  for (int spin = 0; spin < kSpins; ++spin) {
    if (work_waits()) return;
    pause_spinning();
  }
  if (work_waits() || stopping_.load(std::memory_order_acquire)) return;
  bell_.wait(seen, std::chrono::milliseconds(100));
}

}  // namespace rashpa::memory
