// SPDX-License-Identifier: Apache-2.0
#include "subscriber.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "../pipes.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/feedback/ring_reader.hpp"

namespace rashpa::bench {

namespace {

namespace entry = feedback::entry;
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::milliseconds kSubscribing{300};  // a subscription says nowhere that it has arrived
using Place = std::array<char, 128>;

class Latencies {
 public:
  void record(std::span<const std::uint64_t> record) {
    const std::int64_t now = now_ns();
    from_packet_.push_back(now - static_cast<std::int64_t>(record[entry::kLastPacket]));
    from_ring_.push_back(now - static_cast<std::int64_t>(record[entry::kPublished]));
  }
  [[nodiscard]] Heard heard(std::uint64_t lost) {
    const auto us = [](std::vector<std::int64_t>& of, double p) {
      if (of.empty()) return 0.0;
      const auto place = of.begin() + static_cast<std::ptrdiff_t>(p * static_cast<double>(of.size() - 1));
      std::nth_element(of.begin(), place, of.end());
      return static_cast<double>(*place) * 1e-3;
    };
    return {from_packet_.size(), lost, us(from_packet_, 0.5), us(from_packet_, 0.99), us(from_ring_, 0.5),
            us(from_ring_, 0.99)};
  }

 private:
  std::vector<std::int64_t> from_packet_;
  std::vector<std::int64_t> from_ring_;
};

Heard read_ring(const std::string& path, feedback::Wait wait, int ready) {
  feedback::RingReader reader(path, feedback::Begin::oldest);
  give(ready, "r", 1);
  Latencies latencies;
  for (;;) {
    const feedback::Got got = reader.next(kPatience, wait);
    if (got == feedback::Got::nothing) throw ResourceError("feedback_bench: nothing was published for a minute");
    if (got == feedback::Got::ended) return latencies.heard(reader.lost());
    latencies.record(reader.record());
  }
}

Heard read_zeromq(const std::string& endpoint, int ready) {
  void* const context = zmq_ctx_new();
  void* const socket = zmq_socket(context, ZMQ_SUB);
  const int timeout_ms = 60'000;
  zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
  zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
  if (zmq_connect(socket, endpoint.c_str()) != 0) throw ResourceError("feedback_bench: no connection to " + endpoint);
  std::this_thread::sleep_for(kSubscribing);
  give(ready, "r", 1);
  Latencies latencies;
  std::uint64_t expected = 0;
  std::uint64_t lost = 0;
  std::array<std::uint64_t, 1024> words{};
  for (;;) {
    int bytes = 0;
    for (int part = 0; part < 3; ++part) {
      bytes = zmq_recv(socket, words.data(), sizeof words, 0);
      if (bytes < 0) throw ResourceError("feedback_bench: no message for a minute");
    }
    if (bytes == 0) break;
    latencies.record(words);
    const std::uint64_t number = words[entry::kSequence] / 2 - 1;
    lost += number - expected;
    expected = number + 1;
  }
  zmq_close(socket);
  zmq_ctx_term(context);
  return latencies.heard(lost);
}

}  // namespace

std::string_view name_of(Way way) noexcept {
  constexpr std::array<std::string_view, 4> names{"ring, spinning", "ring, asleep", "ZeroMQ",
                                                  "ZeroMQ by a thread of the receiver"};
  return names[static_cast<std::size_t>(way)];
}

SubscriberProcess::SubscriberProcess(Way way) {
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  if (::pipe(down.data()) != 0 || ::pipe(up.data()) != 0) throw ResourceError("feedback_bench: no pipe");
  process_ = ::fork();
  if (process_ < 0) throw ResourceError("feedback_bench: no process");
  to_ = process_ == 0 ? up[1] : down[1];
  from_ = process_ == 0 ? down[0] : up[0];
  ::close(process_ == 0 ? up[0] : up[1]);
  ::close(process_ == 0 ? down[1] : down[0]);
  if (process_ == 0) live(way);
}

SubscriberProcess::~SubscriberProcess() {
  ::close(to_);
  ::close(from_);
  ::waitpid(process_, nullptr, 0);
}

void SubscriberProcess::live(Way way) noexcept {
  try {
    Place place{};
    take(from_, place.data(), place.size());
    const Heard heard =
        speaks_zeromq(way)
            ? read_zeromq(place.data(), to_)
            : read_ring(place.data(), way == Way::ring_spin ? feedback::Wait::spin : feedback::Wait::sleep, to_);
    give(to_, &heard, sizeof heard);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::_exit(0);
}

void SubscriberProcess::connect(const std::string& place) {
  Place text{};
  std::copy_n(place.data(), std::min(place.size(), text.size() - 1), text.data());
  give(to_, text.data(), text.size());
  char ready = 0;
  take(from_, &ready, 1);
}

Heard SubscriberProcess::wait() {
  Heard heard;
  take(from_, &heard, sizeof heard);
  return heard;
}

}  // namespace rashpa::bench
