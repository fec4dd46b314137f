// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/receiver_thread.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::link::pcie {

namespace {

constexpr int kSpins = 200;  // rounds without news before the thread sleeps: a few microseconds
// A source may die between its lock word and its wake: then this ends the sleep.
constexpr auto kLongestSleep = std::chrono::milliseconds(5);

}  // namespace

ReceiverThread::ReceiverThread(const ReceiverConfig& config, std::uint32_t number, std::span<const std::byte> region,
                               std::vector<PolledDtp> dtps, Thread& shared, ArrivalQueues& queues, Doorbell& bell,
                               ReceiverCounters& counters)
    : config_(config),
      number_(number),
      dtps_(std::move(dtps)),
      shared_(&shared),
      output_(queues, bell, number, config.threads),
      handler_(region, counters) {
  for (PolledDtp& dtp : dtps_) {
    dtp.seen = immediate_of(dtp.port->assembly.dtp().id, ~std::uint64_t{0});
    dtp.shared->lock.store(dtp.seen, std::memory_order_release);
    grant(dtp);
  }
}

void ReceiverThread::grant(PolledDtp& dtp) noexcept {
  const std::uint64_t granted = dtp.port->assembly.granted();
  if (config_.flow == Flow::paced || granted == dtp.granted) return;
  dtp.granted = granted;
  // Sequentially consistent: this thread publishes the grant, then reads the source's flag.
  dtp.shared->granted.exchange(granted, std::memory_order_seq_cst);
  dtp.shared->source.wake();
}

// Before the images are given up: a source that has not begun with one of them by now leaves it.
void ReceiverThread::withdraw(PolledDtp& dtp, std::uint64_t closed) noexcept {
  if (closed == dtp.closed) return;
  dtp.closed = closed;
  // Sequentially consistent: this thread publishes it, then reads the source's lock word.
  dtp.shared->closed.exchange(closed, std::memory_order_seq_cst);
}

bool ReceiverThread::serve(PolledDtp& dtp) noexcept {
  withdraw(dtp, dtp.port->closed.load(std::memory_order_acquire));
  // Acquire: this thread sees all that the source wrote before it released the word.
  const std::uint32_t word = dtp.shared->lock.load(std::memory_order_acquire);
  if (word != dtp.seen) {
    dtp.seen = word;
    handler_.announce(*dtp.port, word);
  }
  if (dtp.port->looked_at != dtp.port->announced) {
    handler_.next_event(*dtp.port, now_ns(), output_);
  } else if (dtp.port->news_for(dtp.port->assembly, output_)) {
    dtp.port->close_at(dtp.port->assembly, dtp.closed, now_ns(), output_);
  } else {
    return false;
  }
  grant(dtp);
  return true;
}

bool ReceiverThread::news() noexcept {
  return std::any_of(dtps_.begin(), dtps_.end(), [this](const PolledDtp& dtp) {
    return dtp.shared->lock.load(std::memory_order_seq_cst) != dtp.seen ||
           dtp.port->news_for(dtp.port->assembly, output_);
  });
}

void ReceiverThread::run(const std::atomic<bool>& stop) noexcept {
  place_receiver_thread("pcie", number_, config_.first_processor);
  int idle = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    bool busy = false;
    for (PolledDtp& dtp : dtps_) busy = serve(dtp) || busy;
    output_.ring();
    if (busy) {
      idle = 0;
    } else if (config_.poll == Poll::spin || ++idle < kSpins) {
      pause_spinning();
    } else {
      shared_->receiver.sleep_unless([&] { return news() || stop.load(std::memory_order_seq_cst); }, kLongestSleep);
      idle = 0;
    }
  }
  for (PolledDtp& dtp : dtps_) withdraw(dtp, ~std::uint64_t{0});
}

}  // namespace rashpa::link::pcie
