// SPDX-License-Identifier: Apache-2.0
/// rashpa_feedback_bench: from the last byte of an image until a subscriber in another process has what was decided of
/// it. An emulated JUNGFRAU module pushes images over the link pcie; the unit converts and counts; a subscriber reads
/// the ring, spinning or asleep, or gets messages by ZeroMQ. One row a line with `--json`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "../chain/source_process.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/feedback/publisher.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/jungfrau/synthetic.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "rashpa/sink/null_sink.hpp"
#include "subscriber.hpp"

namespace rashpa::bench {
namespace {

namespace jungfrau = kernel::jungfrau;

struct Arguments {
  std::vector<double> rates{100, 500, 1000};
  double seconds = 5;
  std::uint32_t stack = 1;
  std::uint32_t repeats = 3;
  scheduler::Poll poll = scheduler::Poll::event;
  bool json = false;
};

void row(bool json, const std::string& what, double value, const char* unit) {
  if (json) {
    fmt::print("{{\"what\": \"{}\", \"value\": {:.3f}, \"unit\": \"{}\"}}\n", what, value, unit);
  } else {
    fmt::print("{:<70} {:>12.2f} {}\n", what, value, unit);
  }
}

receiver::Config config_of(const Arguments& arguments, std::uint64_t frames, const feedback::Options& feedback) {
  receiver::BufferConfig buffer;
  buffer.name = "full";
  buffer.width = Detector::kWidth;
  buffer.height = Detector::kHeight;
  buffer.slots = 40 * arguments.stack;
  buffer.stack = arguments.stack;
  buffer.images = frames;
  buffer.deadline_ns = 5'000'000'000;
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

void measure(const Arguments& arguments, double rate, Way way) {
  const auto frames = static_cast<std::uint64_t>(rate * arguments.seconds);
  std::vector<double> p50;
  std::vector<double> p99;
  std::vector<double> in_ring;
  std::vector<double> from_ring_p50;
  std::vector<double> from_ring_p99;
  std::uint64_t lost = 0;
  for (std::uint32_t round = 0; round < arguments.repeats; ++round) {
    SourceProcess source({.modules = 1, .frames = frames, .rate_hz = rate});  // both before any thread
    SubscriberProcess subscriber(way);
    const std::string ring = fmt::format("/dev/shm/rashpa.bench-{}", ::getpid());
    receiver::Receiver receiver(config_of(arguments, frames,
                                          {.ring = way == Way::zeromq ? "" : ring,
                                           .zmq = way == Way::zeromq ? "tcp://127.0.0.1:0" : "",
                                           .entries = 4096}));
    subscriber.connect(way == Way::zeromq ? receiver.status().buffers[0].feedback->zmq : ring);
    receiver.arm(source.connect(receiver.endpoints(), receiver.placements(), 1));
    receiver.start();
    source.start();
    source.wait();
    receiver.finish();
    if (!receiver.wait(60)) throw ResourceError("feedback_bench: the run did not end");
    const Heard heard = subscriber.wait();
    const receiver::BufferStatus buffer = receiver.status().buffers[0];
    if (heard.images + heard.lost != frames) {
      throw ResourceError(
          fmt::format("feedback_bench: {} images of {} were heard of, {} lost", heard.images, frames, heard.lost));
    }
    p50.push_back(heard.p50_us);
    p99.push_back(heard.p99_us);
    in_ring.push_back(static_cast<double>(buffer.feedback->in_ring->percentile_ns(0.99)) * 1e-3);
    from_ring_p50.push_back(heard.from_ring_p50_us);
    from_ring_p99.push_back(heard.from_ring_p99_us);
    lost += heard.lost;
    receiver.stop();
  }
  const std::string name = fmt::format("{:g} images/s, stack {}, {}", rate, arguments.stack, name_of(way));
  row(arguments.json, name + ": last byte to subscriber, p50", middle(p50), "us");
  row(arguments.json, name + ": last byte to subscriber, p99", middle(p99), "us");
  row(arguments.json, name + ": last byte to subscriber, p99, worst round", *std::max_element(p99.begin(), p99.end()),
      "us");
  row(arguments.json, name + ": last byte to ring, p99", middle(in_ring), "us");
  row(arguments.json, name + ": ring to subscriber, p50", middle(from_ring_p50), "us");
  row(arguments.json, name + ": ring to subscriber, p99", middle(from_ring_p99), "us");
  row(arguments.json, name + ": images lost", static_cast<double>(lost), "images");
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
    } else if (name == "--poll" && (value == "spin" || value == "event")) {
      arguments.poll = value == "spin" ? scheduler::Poll::spin : scheduler::Poll::event;
    } else {
      throw ConfigError("feedback_bench: no option " + name + " " + value +
                        "; there are --rates 100,500,1000 --seconds --stack --repeats --poll event|spin --json");
    }
  }
  return arguments;
}

int run(const Arguments& arguments) {
  for (const double rate : arguments.rates) {
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
