// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cpu/team.hpp"

#include "rashpa/core/system/pause.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::unit {

namespace {

constexpr unsigned kTaskBits = 24;
constexpr std::uint64_t kTaskMask = (1U << kTaskBits) - 1;

constexpr std::uint64_t tasks_of(std::uint64_t ticket) noexcept { return (ticket >> kTaskBits) & kTaskMask; }
constexpr std::uint64_t next_of(std::uint64_t ticket) noexcept { return ticket & kTaskMask; }

}  // namespace

Team::Team(unsigned threads, int first_processor, Work& work, const std::string& name)
    : work_(work), running_(threads) {
  threads_.reserve(threads);
  for (unsigned worker = 0; worker < threads; ++worker) {
    threads_.emplace_back([this, worker, first_processor, name] {
      const int processor = first_processor < 0 ? -1 : first_processor + static_cast<int>(worker);
      memory::place_this_thread(name + "-" + std::to_string(worker), processor);
      running_.count_down();
      serve(worker);
    });
  }
  running_.wait();
}

Team::~Team() {
  stopping_.store(true, std::memory_order_release);
  bell_.ring();
}

void Team::publish(std::uint32_t tasks) noexcept {
  unfinished_.store(tasks, std::memory_order_relaxed);
  const std::uint64_t phase = (ticket_.load(std::memory_order_relaxed) >> (2 * kTaskBits)) + 1;
  ticket_.store((phase << (2 * kTaskBits)) | (std::uint64_t{tasks} << kTaskBits), std::memory_order_release);
  bell_.ring();
}

bool Team::work_waits() const noexcept {
  const std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  return next_of(ticket) < tasks_of(ticket);
}

void Team::serve(unsigned worker) noexcept {
  for (;;) {
    if (work_waits()) {
      // Taken by what the addition returns, not by what was seen: the phase may have changed in between. Threads that
      // come too late add a few to a phase that is used up, which kMostTasks leaves room for.
      const std::uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
      if (next_of(ticket) >= tasks_of(ticket)) continue;
      work_.run(worker, static_cast<std::uint32_t>(next_of(ticket)));
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) work_.finished();
    } else if (stopping_.load(std::memory_order_acquire)) {
      return;
    } else {
      sleep_until_published();
    }
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

}  // namespace rashpa::unit
