// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of receivers whose links have threads of their own.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/link/arrival_queue.hpp"
#include "rashpa/link/arrivals/told.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/link.hpp"

namespace rashpa::link {

/// One thread of a receiver. Both functions are called rarely: once a run, and once for each release() or close().
class LinkThread {
 public:
  virtual ~LinkThread() = default;
  /// Runs the thread until `stop` is set, which it notices within some milliseconds, or sooner after wake().
  virtual void run(const std::atomic<bool>& stop) noexcept = 0;
  /// Wakes the thread to check for changes, if it sleeps. Any thread.
  virtual void wake() noexcept = 0;
};

/// Names the calling thread `<link>-rx<number>` and binds it to processor first_processor + number; −1: unbound.
void place_receiver_thread(std::string_view link, std::uint32_t number, int first_processor) noexcept;

/// The base of receivers with threads; thread d mod threads serves DTP d. A derived class with state of its own calls
/// stop() first in its destructor.
class ThreadedReceiver : public Receiver {
 public:
  void start() final;
  void release(std::uint32_t dtp, std::uint64_t end) noexcept final;
  void close(std::uint32_t dtp, std::uint64_t end) noexcept final;
  void stop() noexcept final;
  [[nodiscard]] Counts stats() const final;

 protected:
  /// Checks the sizes. `link` is the name for messages. Throws ConfigError unless there are 1 … `dtps` threads and one
  /// queue for each DTP. `together` is the number of consecutive DTPs that share a socket and a thread: thread (d /
  /// together) mod threads serves DTP d.
  ThreadedReceiver(std::string_view link, std::size_t dtps, std::uint32_t threads, std::size_t queues,
                   std::uint32_t together = 1);

  /// Adds the DTPs in order, before start(). Only the thread writes its `counters`; all objects given here outlive the
  /// threads.
  void add_dtp(Told& told) { told_.push_back(&told); }
  void add_thread(LinkThread& thread, const CounterList& counters) {
    threads_.push_back(&thread);
    counters_.push_back(&counters);
  }
  /// Begins connect(): throws StateError after start(), ConfigError unless there is one sender for each DTP.
  void check_senders(std::size_t senders) const;

 private:
  [[nodiscard]] LinkThread& thread_of(std::uint32_t dtp) noexcept {
    return *threads_[dtp / together_ % threads_.size()];
  }
  std::string link_;
  std::uint32_t together_;
  std::vector<Told*> told_;
  std::vector<LinkThread*> threads_;
  std::vector<const CounterList*> counters_;
  std::atomic<bool> stop_{false};  // relaxed: the owner sets it and joins; seq_cst where the thread sleeps
  std::vector<std::jthread> running_;
};

}  // namespace rashpa::link
