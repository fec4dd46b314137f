// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/arrivals/threaded_receiver.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link {

void place_receiver_thread(std::string_view link, std::uint32_t number, int first_processor) noexcept {
  const int processor = first_processor < 0 ? -1 : first_processor + static_cast<int>(number);
  memory::place_this_thread(fmt::format("{}-rx{}", link, number), processor);
}

ThreadedReceiver::ThreadedReceiver(std::string_view link, std::size_t dtps, std::uint32_t threads, std::size_t queues,
                                   std::uint32_t together)
    : link_(link), together_(together) {
  if (dtps == 0) throw ConfigError(fmt::format("{}: the receiver has no DTP; give it at least one", link));
  if (threads == 0 || threads > dtps) {
    throw ConfigError(fmt::format("{}: {} threads for {} DTPs; use 1 … {}", link, threads, dtps, dtps));
  }
  if (queues != dtps) {
    throw ConfigError(fmt::format("{}: {} queues of arrivals for {} DTPs; give each its own", link, queues, dtps));
  }
}

void ThreadedReceiver::check_senders(std::size_t senders) const {
  if (!running_.empty())
    throw StateError(fmt::format("{}: the receiver is already started; call connect() before start()", link_));
  if (senders != told_.size()) {
    throw ConfigError(
        fmt::format("{}: there are {} sources for {} DTPs; give one for each DTP", link_, senders, told_.size()));
  }
}

void ThreadedReceiver::start() {
  if (!running_.empty()) throw StateError(fmt::format("{}: the receiver is already started; call start() once", link_));
  stop_ = false;
  for (LinkThread* thread : threads_) {
    running_.emplace_back([this, thread] { thread->run(stop_); });
  }
}

void ThreadedReceiver::stop() noexcept {
  stop_ = true;
  for (LinkThread* thread : threads_) thread->wake();
  running_.clear();  // joins
}

void ThreadedReceiver::release(std::uint32_t dtp, std::uint64_t end) noexcept {
  told_[dtp]->release(end);
  thread_of(dtp).wake();
}

void ThreadedReceiver::close(std::uint32_t dtp, std::uint64_t end) noexcept {
  told_[dtp]->close(end);
  thread_of(dtp).wake();
}

Counts ThreadedReceiver::stats() const {
  Counts sum;
  for (const CounterList* counters : counters_) counters->add_to(sum);
  return sum;
}

}  // namespace rashpa::link
