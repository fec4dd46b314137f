// SPDX-License-Identifier: Apache-2.0
/// rashpa_feedback_bench: from the last byte of an image until a subscriber in another process has what was decided of
/// it. An emulated JUNGFRAU module pushes images over the link pcie; the unit converts and counts; a subscriber reads
/// the ring, spinning or asleep, or gets messages by ZeroMQ. One row a line with `--json`. `--pairs N` compares the
/// process that publishes with a thread of the receiver, by turns.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../chain/source_process.hpp"
#include "../rows.hpp"
#include "inside.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/feedback/publisher.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "rashpa/sink/simple/null_sink.hpp"
#include "subscriber.hpp"

namespace rashpa::bench {
namespace {

namespace jungfrau = kernel::jungfrau;

struct Arguments {
  std::vector<double> rates{100, 500, 1000};
  double seconds = 5;
  std::uint32_t stack = 1;
  std::uint32_t repeats = 3;
  std::uint32_t pairs = 0;  // of runs with the process that publishes and with a thread; 0: all ways, each by itself
  scheduler::Poll poll = scheduler::Poll::event;
  bool json = false;
};

void row(bool json, const std::string& what, double value, const char* unit) {
  measured::print({.what = what, .value = value, .unit = unit}, json);
}

receiver::Config config_of(const Arguments& arguments, std::uint64_t frames, const feedback::Options& feedback) {
  receiver::BufferConfig buffer;
  buffer.name = "full";
  buffer.width = Detector::kWidth;
  buffer.height = Detector::kHeight;
  buffer.slots = 40 * arguments.stack;
  buffer.stack = arguments.stack;
  buffer.images = frames;
  buffer.deadline_ms = 5'000;
  buffer.pipeline.kernels = {
      jungfrau::synthetic::config(Detector::kWidth, Detector::kHeight, jungfrau::Output::photons, 0),
      kernel::bragg_count::Config{20, 60}};
  buffer.sinks.emplace_back([](const receiver::Output& output) {
    return std::make_unique<sink::NullSink>(std::uint64_t{output.width} * output.height * pixel_bytes(output.pixel));
  });
  buffer.feedback = feedback;
  buffer.dtps.push_back({.width = Detector::kWidth, .height = Detector::kHeight});
  receiver::Config config;
  config.buffers.push_back(std::move(buffer));
  config.link = link::pcie::Options{.verify = link::Verify::all};
  config.source_link = "pcie";
  config.poll = arguments.poll;
  config.run = 1;
  return config;
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One run.
struct Round {
  Heard heard;
  double in_ring_p99_us = 0;
  double made_ms = 0;  ///< how long it took to make the receiver, with whatever publishes
};

Round play(const Arguments& arguments, double rate, Way way) {
  const auto frames = static_cast<std::uint64_t>(rate * arguments.seconds);
  SourceProcess source({.modules = 1, .frames = frames, .rate_hz = rate});  // both before any thread
  SubscriberProcess subscriber(way);
  const std::string ring = fmt::format("/dev/shm/rashpa.bench-{}", ::getpid());
  const std::int64_t began = now_ns();
  receiver::Receiver receiver(config_of(
      arguments, frames,
      {.ring = way == Way::zeromq ? "" : ring, .zmq = way == Way::zeromq ? "tcp://127.0.0.1:0" : "", .entries = 4096}));
  Round round;
  std::optional<InsidePublisher> inside;
  if (way == Way::zeromq_inside) inside.emplace(ring);
  round.made_ms = static_cast<double>(now_ns() - began) * 1e-6;
  const std::string endpoint = inside ? inside->endpoint() : receiver.status().buffers[0].feedback->zmq;
  subscriber.connect(speaks_zeromq(way) ? endpoint : ring);
  receiver.arm(source.connect(receiver.endpoints(), receiver.placements(), 1));
  receiver.start();
  source.start();
  source.wait();
  receiver.finish();
  if (!receiver.wait(60)) throw ResourceError("feedback_bench: the run did not end");
  round.heard = subscriber.wait();
  if (round.heard.images + round.heard.lost != frames) {
    throw ResourceError(fmt::format("feedback_bench: {} images of {} were heard of, {} lost", round.heard.images,
                                    frames, round.heard.lost));
  }
  round.in_ring_p99_us =
      static_cast<double>(receiver.status().buffers[0].feedback->in_ring->percentile_ns(0.99)) * 1e-3;
  receiver.stop();
  return round;
}

void measure(const Arguments& arguments, double rate, Way way) {
  std::vector<Round> rounds;
  for (std::uint32_t round = 0; round < arguments.repeats; ++round) rounds.push_back(play(arguments, rate, way));
  const auto all = [&](auto value) {
    std::vector<double> values;
    std::transform(rounds.begin(), rounds.end(), std::back_inserter(values), value);
    return values;
  };
  const std::vector<double> p99 = all([](const Round& one) { return one.heard.p99_us; });
  const std::vector<double> lost = all([](const Round& one) { return static_cast<double>(one.heard.lost); });
  const std::string name = fmt::format("{:g} images/s, stack {}, {}", rate, arguments.stack, name_of(way));
  const auto tell = [&](const char* what, double value, const char* unit = "us") {
    row(arguments.json, name + what, value, unit);
  };
  tell(": last byte to subscriber, p50", middle(all([](const Round& one) { return one.heard.p50_us; })));
  tell(": last byte to subscriber, p99", middle(p99));
  tell(": last byte to subscriber, p99, worst round", *std::max_element(p99.begin(), p99.end()));
  tell(": last byte to ring, p99", middle(all([](const Round& one) { return one.in_ring_p99_us; })));
  tell(": ring to subscriber, p50", middle(all([](const Round& one) { return one.heard.from_ring_p50_us; })));
  tell(": ring to subscriber, p99", middle(all([](const Round& one) { return one.heard.from_ring_p99_us; })));
  tell(": images lost", std::accumulate(lost.begin(), lost.end(), 0.0), "images");
}

/// The median of differences, and between which values it lies with 95 %: as that of samples drawn from them.
void tell_median(const Arguments& arguments, const std::string& name, const std::vector<double>& values,
                 const char* unit) {
  constexpr std::size_t kSamples = 10'000;
  std::mt19937 random(32);
  std::uniform_int_distribution<std::size_t> one(0, values.size() - 1);
  std::vector<double> medians(kSamples);
  for (double& median : medians) {
    std::vector<double> sample(values.size());
    for (double& value : sample) value = values[one(random)];
    median = middle(std::move(sample));
  }
  std::sort(medians.begin(), medians.end());
  row(arguments.json, name + ", median", middle(values), unit);
  row(arguments.json, name + ", from (95 %)", medians[kSamples / 40], unit);
  row(arguments.json, name + ", to (95 %)", medians[kSamples - 1 - kSamples / 40], unit);
}

/// What the process that publishes costs beside a thread: runs of both by turns, which begins by chance, so that what
/// else the machine does meets both.
void compare(const Arguments& arguments, double rate) {
  std::mt19937 random(7);
  std::vector<double> last_byte, from_ring, made, inside, outside;
  for (std::uint32_t pair = 0; pair < arguments.pairs; ++pair) {
    const bool first = random() % 2 == 0;
    const Round one = play(arguments, rate, first ? Way::zeromq : Way::zeromq_inside);
    const Round two = play(arguments, rate, first ? Way::zeromq_inside : Way::zeromq);
    const Round &process = first ? one : two, &thread = first ? two : one;
    last_byte.push_back(process.heard.p50_us - thread.heard.p50_us);
    from_ring.push_back(process.heard.from_ring_p50_us - thread.heard.from_ring_p50_us);
    made.push_back(process.made_ms - thread.made_ms);
    outside.push_back(process.heard.p50_us);
    inside.push_back(thread.heard.p50_us);
  }
  const std::string name = fmt::format("{:g} images/s, stack {}, {} pairs of {:g} s: ", rate, arguments.stack,
                                       arguments.pairs, arguments.seconds);
  row(arguments.json, name + "last byte to subscriber, p50, thread", middle(inside), "us");
  row(arguments.json, name + "last byte to subscriber, p50, process", middle(outside), "us");
  tell_median(arguments, name + "the process adds to that", last_byte, "us");
  tell_median(arguments, name + "the process adds to ring to subscriber, p50", from_ring, "us");
  tell_median(arguments, name + "the process adds to making a receiver", made, "ms");
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--json") {
      arguments.json = true;
      continue;
    }
    if (i + 1 == count) throw ConfigError("feedback_bench: " + name + " needs a value");
    const std::string value = values[++i];
    if (name == "--rates") {
      arguments.rates.clear();
      std::istringstream text(value);
      for (std::string one; std::getline(text, one, ',');) arguments.rates.push_back(std::stod(one));
    } else if (name == "--seconds") {
      arguments.seconds = std::stod(value);
    } else if (name == "--stack") {
      arguments.stack = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--repeats") {
      arguments.repeats = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--pairs") {
      arguments.pairs = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--poll" && (value == "spin" || value == "event")) {
      arguments.poll = value == "spin" ? scheduler::Poll::spin : scheduler::Poll::event;
    } else {
      throw ConfigError(
          "feedback_bench: no option " + name + " " + value +
          "; there are --rates 100,500,1000 --seconds --stack --repeats --pairs --poll event|spin --json");
    }
  }
  return arguments;
}

int run(const Arguments& arguments) {
  for (const double rate : arguments.rates) {
    if (arguments.pairs > 0) {
      compare(arguments, rate);
      continue;
    }
    for (const Way way : {Way::ring_spin, Way::ring_sleep, Way::zeromq}) measure(arguments, rate, way);
  }
  return 0;
}

}  // namespace
}  // namespace rashpa::bench

int main(int count, char** values) {
  try {
    return rashpa::bench::run(rashpa::bench::parse(count, values));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
