// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/scheduler.hpp"

#include <algorithm>
#include <chrono>

#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::scheduler {

namespace {
// Deadlines are looked at this often even when no bell rings.
constexpr std::chrono::milliseconds kLongestSleep{2};
}  // namespace

Scheduler::Scheduler(std::vector<Lane*> lanes, link::ArrivalQueues& queues, Doorbell& bell, Poll poll, int processor)
    : lanes_(std::move(lanes)),
      queues_(queues),
      routes_(queues.size()),
      bell_(bell),
      poll_(poll),
      processor_(processor),
      ends_(lanes_.size()) {
  for (Lane* lane : lanes_) {
    for (std::size_t dtp = 0; dtp < lane->config().dtps.size(); ++dtp) {
      routes_[lane->config().dtps[dtp].position] = {lane, dtp};
    }
  }
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::start() {
  thread_ = std::jthread([this] { run(); });
}

void Scheduler::finish(const std::vector<std::optional<std::uint64_t>>& ends) {
  if (finish_.load(std::memory_order_acquire)) return;
  for (std::size_t lane = 0; lane < std::min(ends_.size(), ends.size()); ++lane) ends_[lane] = ends[lane];
  finish_.store(true, std::memory_order_release);
  bell_.ring();
}

void Scheduler::hold_deadlines(bool held) noexcept {
  held_.store(held, std::memory_order_release);
  bell_.ring();
}

void Scheduler::stop() noexcept {
  stop_.store(true, std::memory_order_release);
  bell_.ring();
  if (thread_.joinable()) return thread_.join();
  for (Lane* lane : lanes_)
    lane->set_closed();  // it has never run: nothing has come, and nobody else says that nothing will
}

bool Scheduler::drain(std::int64_t now) {
  bool progress = false;
  for (std::size_t position = 0; position < routes_.size(); ++position) {
    const Route& route = routes_[position];
    link::ArrivalQueue& queue = queues_[position];
    // An arrival that needs a free stack waits in its own DTP's queue.
    for (const link::Arrival* next = queue.front(); next != nullptr && route.lane->can_take(*next);
         next = queue.front()) {
      route.lane->take(route.dtp, *next, now);
      queue.pop();
      progress = true;
    }
  }
  return progress;
}

void Scheduler::run() {
  memory::place_this_thread("scheduler", processor_);
  bool finishing = false;
  bool held = false;
  for (;;) {
    const std::uint32_t seen = bell_.count();
    const bool stopping = stop_.load(std::memory_order_acquire);
    const std::int64_t now = now_ns();
    if (const bool hold = held_.load(std::memory_order_acquire); hold != held) {
      held = hold;
      for (Lane* lane : lanes_) lane->hold_deadlines(held, now);
    }
    if (!finishing && finish_.load(std::memory_order_acquire)) {
      finishing = true;
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) lanes_[lane]->finish(now, ends_[lane]);
    }
    bool progress = drain(now);
    for (Lane* lane : lanes_) {
      while (lane->advance(now)) progress = true;
    }
    if (std::all_of(lanes_.begin(), lanes_.end(), [](const Lane* lane) { return lane->done(); })) break;
    if (progress) continue;
    if (stopping) {
      for (Lane* lane : lanes_) lane->abandon(now);
      break;
    }
    if (poll_ == Poll::event) bell_.wait(seen, kLongestSleep);
  }
  for (Lane* lane : lanes_) lane->set_closed();
}

}  // namespace rashpa::scheduler
