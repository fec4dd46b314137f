// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/receiver_thread.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::link::sls {

namespace {

constexpr std::int64_t kTidyNs = 1'000'000;     // release() and close() are seen at least so often
constexpr std::int64_t kDropsNs = 100'000'000;  // the kernel is asked so often what it has dropped
constexpr std::int64_t kSpinNs = 30'000;        // asking so long before sleeping

}  // namespace

ReceiverThread::ReceiverThread(const ReceiverConfig& config, std::uint32_t number, std::vector<Port*> ports,
                               std::uint32_t tiles, FrameCounts& counts, ArrivalQueues& queues, Doorbell& bell,
                               PortCounters& counters)
    : config_(config),
      number_(number),
      ports_(std::move(ports)),
      counts_(&counts),
      output_(queues, bell, number, config.threads, tiles),
      counters_(&counters),
      sleep_("sls"),
      sockets_(epoll_create1(EPOLL_CLOEXEC)) {
  if (sockets_ < 0)
    throw ResourceError(fmt::format("sls: epoll: {}; check the limit of open files", errno_text(errno)));
  for (Port* port : ports_) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(sockets_, EPOLL_CTL_ADD, port->intake().fd(), &event) == 0) continue;
    const int code = errno;
    ::close(sockets_);
    throw ResourceError(
        fmt::format("sls: epoll: {}; check the limit of watched files (fs.epoll.max_user_watches)", errno_text(code)));
  }
}

ReceiverThread::~ReceiverThread() { ::close(sockets_); }

// Until frame 0 is known, all datagrams stay where they are, but for those that are none of ours.
void ReceiverThread::look_for_first(std::int64_t now) noexcept {
  constexpr int kTries = 64;
  std::array<std::byte, kHeaderBytes> room{};
  for (Port* port : ports_) {
    for (int i = 0; i < kTries && !counts_->offered(port->place); ++i) {
      const auto bytes = port->intake().peek(room);
      if (!bytes) break;
      if (const auto number = port->handler.number_of(*bytes)) {
        counts_->offer(port->place, *number, now);
      } else {
        counters_->packets.add(1);
        counters_->malformed.add(1);
        port->intake().discard();
      }
    }
  }
  counts_->settle(now);
}

// True when something has come.
bool ReceiverThread::take(Port& port, std::int64_t now, bool tidy, bool& drained) noexcept {
  bool empty = true;
  PortIntake& intake = port.intake();
  if (port.gather) port.gather->look();
  const std::span<const Intake> datagrams = intake.receive(empty);
  if (!datagrams.empty()) port.handler.refresh(now, output_);
  for (const Intake& datagram : datagrams) {
    const std::size_t size = datagram.bytes.size();
    const std::size_t segment = datagram.segment == 0 ? size : datagram.segment;
    std::size_t at = 0;
    do {
      const std::size_t bytes = std::min(segment, size - at);
      port.handler.handle(datagram.bytes.subrange(at, bytes), now);
      at += bytes;
    } while (at < size);
    port.bytes += size;
  }
  if (port.gather) port.gather->submit();
  const bool a_queue = port.bytes > intake.buffer();
  const bool none_left = datagrams.empty() && empty;
  if (none_left || a_queue || tidy) {
    const Taken taken = none_left ? Taken::all : a_queue ? Taken::a_queue : Taken::some;
    if (taken != Taken::some) port.bytes = 0;
    port.handler.decide_all(now, output_, taken);
  } else {
    port.handler.decide_touched(now, output_);
  }
  drained = drained && empty;
  return !datagrams.empty();
}

void ReceiverThread::decide_all(std::int64_t now) noexcept {
  for (Port* port : ports_) port->handler.decide_all(now, output_, Taken::all);
}

void ReceiverThread::count_drops() noexcept {
  for (Port* port : ports_) port->intake().count_drops(*counters_);
}

bool ReceiverThread::something_changed() noexcept {
  return std::any_of(ports_.begin(), ports_.end(), [this](Port* port) { return port->handler.news(output_); });
}

void ReceiverThread::run(const std::atomic<bool>& stop) noexcept {
  place_receiver_thread("sls", number_, config_.first_processor);
  std::int64_t last_tidy = 0;
  std::int64_t last_packet = 0;
  std::int64_t last_drops = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    const std::int64_t now = now_ns();
    const bool tidy = now - last_tidy > kTidyNs;
    if (tidy) last_tidy = now;
    bool drained = true;
    if (counts_->begun()) {
      for (Port* port : ports_) {
        if (take(*port, now, tidy, drained)) last_packet = now;
      }
    } else {
      look_for_first(now);
      if (!counts_->offering()) decide_all(now);  // waiting datagrams are taken before images are given up
    }
    if (now - last_drops > kDropsNs) {
      count_drops();
      last_drops = now;
    }
    output_.ring();
    if (!drained) continue;
    if (config_.poll == Poll::event && now - last_packet > kSpinNs) {
      sleep_.sleep_unless(sockets_, [&] { return something_changed() || stop.load(); });
    } else {
      pause_spinning();
    }
  }
  count_drops();
}

}  // namespace rashpa::link::sls
