// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The outer shell that the receivers of all links with threads of their own share.
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

/// One thread of a receiver. Both calls are rare: once a run, and once each release() or close().
class LinkThread {
 public:
  virtual ~LinkThread() = default;
  /// The thread's body: until `stop`, which it notices within some milliseconds, or sooner after wake().
  virtual void run(const std::atomic<bool>& stop) noexcept = 0;
  /// Any thread: something changed that the thread should look at, if it sleeps.
  virtual void wake() noexcept = 0;
};

/// Names the calling thread `<link>-rx<number>` and binds it to processor first_processor + number; −1: unbound.
void place_receiver_thread(std::string_view link, std::uint32_t number, int first_processor) noexcept;

/// DTP d is served by thread d mod threads. Added state belongs to the derived class, which calls stop() first of all
/// in its destructor.
class ThreadedReceiver : public Receiver {
 public:
  void start() final;
  void release(std::uint32_t dtp, std::uint64_t end) noexcept final;
  void close(std::uint32_t dtp, std::uint64_t end) noexcept final;
  void stop() noexcept final;
  [[nodiscard]] Counts stats() const final;

 protected:
  /// `link`: for messages. Throws ConfigError unless there are 1 … `dtps` threads and as many queues as DTPs.
  /// `together`: number of DTPs in a row that one thread serves, because they come by one socket; DTP d is then served
  /// by thread (d / together) mod threads.
  ThreadedReceiver(std::string_view link, std::size_t dtps, std::uint32_t threads, std::size_t queues,
                   std::uint32_t together = 1);

  /// Adds the DTPs in order, before start(). The thread alone writes its `counters`; everything given here outlives the
  /// threads.
  void add_dtp(Told& told) { told_.push_back(&told); }
  void add_thread(LinkThread& thread, const CounterList& counters) {
    threads_.push_back(&thread);
    counters_.push_back(&counters);
  }
  /// The beginning of connect(): throws StateError after start(), ConfigError unless there is one sender per DTP.
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
