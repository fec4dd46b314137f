// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Senders and a receiver over loopback sockets in one process, for this folder's tests.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::roce::testing {

using link::testing::end_of;
using link::testing::small_dtp;
using link::testing::Source;

/// The set-up of one receiver with its sources in this process; the test acts as the scheduler.
struct ChainConfig {
  std::string address = "127.0.0.1";
  Options options{};
  Flow flow = Flow::credits;
  std::vector<ReceiverDtp> dtps;
  std::optional<FaultConfig> faults{};
  std::uint32_t threads = 1;
  Poll poll = Poll::event;
  std::optional<std::uint32_t> first_psn{};
};

class Chain {
 public:
  explicit Chain(const ChainConfig& setup) : setup_(setup) {
    std::uint64_t bytes = 0;
    for (const auto& dtp : setup.dtps) bytes = std::max(bytes, end_of(dtp));
    region_.resize(bytes);
    queues_ = ArrivalQueues(setup.dtps.size(), 1024);
    ReceiverConfig config;
    config.bind_address = setup.address;
    config.threads = setup.threads;
    config.options = setup.options;
    config.flow = setup.flow;
    config.poll = setup.poll;
    receiver = std::make_unique<RoceReceiver>(config, region_, setup.dtps, queues_, bell_);
    const auto endpoints = receiver->endpoints();
    std::vector<Endpoint> sources;
    for (std::size_t d = 0; d < setup.dtps.size(); ++d) {
      SenderConfig source;
      source.bind_address = setup.address;
      source.destination = endpoints[d];
      if (source.destination.address == "0.0.0.0") source.destination.address = "127.0.0.1";
      source.options = setup.options;
      source.flow = setup.flow;
      source.dtp = setup.dtps[d].id;
      source.images = setup.dtps[d].images;
      source.payload_bytes = setup.dtps[d].placement.payload_bytes();
      source.faults = setup.faults;
      source.first_psn = setup.first_psn;
      senders.push_back(make_sender(source));
      sources.push_back(senders.back()->endpoint());
    }
    receiver->connect(sources);
  }

  /// Starts the receiver, sends all images of all DTPs and takes all arrivals. Closes undecided images when the sources
  /// are done and no packets come.
  void run() {
    receiver->start();
    run_on();
  }
  /// Runs as run() does, with a receiver that was already started.
  void run_on() {
    std::atomic<bool> stop{false};  // relaxed: the owner stops the receiver's thread and joins it
    std::atomic<std::size_t> running{setup_.dtps.size()};
    std::vector<std::jthread> threads;
    for (std::size_t d = 0; d < setup_.dtps.size(); ++d) {
      threads.emplace_back([&, d] {
        Source source(setup_.dtps[d], *senders[d]);
        const auto give_up = [&] { return stop.load(); };
        for (std::uint64_t k = 0; k < setup_.dtps[d].images && source.send(k, give_up); ++k) {
        }
        source.drain(give_up);
        --running;
      });
    }
    collect(running);
    stop = true;
    threads.clear();
    receiver->stop();
  }

  void take(const Arrival& arrival) {
    auto& list = arrivals[arrival.dtp];
    EXPECT_EQ(arrival.index, list.size()) << "in order, no gaps";
    if (arrival.completeness == Completeness::complete) check_pixels(arrival);
    if (arrival.map != nullptr) {
      EXPECT_EQ(arrival.map->lines_missing(), arrival.lines_missing);
      EXPECT_FALSE(arrival.map->full());
    }
    list.push_back(arrival);
    receiver->release(arrival.dtp, arrival.index + 1);
  }

  ChainConfig setup_;
  std::vector<std::byte> region_;
  ArrivalQueues queues_;
  Doorbell bell_;
  std::unique_ptr<RoceReceiver> receiver;
  std::vector<std::unique_ptr<RoceSender>> senders;
  std::map<std::uint32_t, std::vector<Arrival>> arrivals;

 private:
  void collect(const std::atomic<std::size_t>& running) {
    std::uint64_t expected = 0;
    for (const auto& dtp : setup_.dtps) expected += dtp.images;
    std::uint64_t taken = 0;
    const std::int64_t start = now_ns();
    std::int64_t news = start;
    while (taken < expected) {
      const auto seen = bell_.count();
      Arrival arrival;
      while (queues_.try_pop(arrival)) {
        take(arrival);
        ++taken;
        news = now_ns();
      }
      // The scheduler's deadline: the sources have sent everything and nothing more comes.
      if (running != 0) {
        news = now_ns();
      } else if (now_ns() - news > 200'000'000) {
        for (std::uint32_t d = 0; d < setup_.dtps.size(); ++d) receiver->close(d, setup_.dtps[d].images);
        ++closes;
        news = now_ns();
      }
      ASSERT_LT(now_ns() - start, 100'000'000'000) << taken << " of " << expected;
      bell_.wait(seen, std::chrono::milliseconds(2));
    }
  }
  void check_pixels(const Arrival& arrival) {
    const ReceiverDtp& dtp = setup_.dtps[arrival.dtp];
    const Placement& p = dtp.placement;
    std::uint32_t crc = 0;
    for (std::uint32_t line = 0; line < p.lines; ++line) {
      crc = crc32c({region_.data() + p.image_offset(arrival.index) + line * p.pitch, p.line_bytes}, crc);
    }
    EXPECT_EQ(crc, arrival.record.payload_crc32c);
    EXPECT_EQ(arrival.record.frame_number, dtp.slice.frame(arrival.index));
    EXPECT_EQ(arrival.proof, Proof::crc);
  }

 public:
  int closes = 0;
};

inline bool have_ipv6() {
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  if (fd < 0) return false;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return ok;
}

}  // namespace rashpa::link::roce::testing
