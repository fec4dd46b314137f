// SPDX-License-Identifier: Apache-2.0
/// rashpa_chain_bench: a whole acquisition in two processes of one machine. An emulated JUNGFRAU pushes modules over
/// the link pcie into the receiver's buffer; the unit converts, counts and keeps what has spots; a null sink takes it.
/// Books and latencies, one row a line with `--json`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "../rows.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "rashpa/sink/simple/null_sink.hpp"
#include "source_process.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "memory_floor.hpp"
#endif

namespace rashpa::bench {
namespace {

namespace jungfrau = kernel::jungfrau;

#ifdef RASHPA_HAVE_CUDA
constexpr double kFloorSeconds = 2;
#endif

struct Arguments {
  Detector detector{.modules = 8, .frames = 2000, .rate_hz = 0};
  std::uint32_t stack = 10;
  std::uint32_t slots = 60;
  std::uint32_t link_threads = 2;
  unit::Choice unit{};
  link::Verify verify = link::Verify::all;
  std::string verify_name = "all";
  scheduler::Poll poll = scheduler::Poll::event;
  bool json = false;
  bool full = false;                ///< all kernels on every image, and a decision behind the last
  std::uint32_t floor_threads = 0;  ///< 0: the floor of memory is not measured
};

void row(bool json, const std::string& what, double value, const char* unit) {
  measured::print({.what = what, .value = value, .unit = unit}, json);
}

/// The calibration of all modules, one above the other.
jungfrau::Config calibration(std::uint32_t modules) {
  jungfrau::Config all =
      jungfrau::synthetic::config(Detector::kWidth, Detector::kHeight * modules, jungfrau::Output::photons, 0);
  const std::size_t module_pixels = std::size_t{Detector::kWidth} * Detector::kHeight;
  for (std::uint32_t module = 0; module < modules; ++module) {
    const auto one =
        jungfrau::synthetic::config(Detector::kWidth, Detector::kHeight, jungfrau::Output::photons, module);
    for (std::size_t gain = 0; gain < 3; ++gain) {
      const auto from = static_cast<std::ptrdiff_t>(gain * module_pixels);
      const auto to = static_cast<std::ptrdiff_t>((gain * modules + module) * module_pixels);
      const auto count = static_cast<std::ptrdiff_t>(module_pixels);
      std::copy_n(one.calibration.pedestal.begin() + from, count, all.calibration.pedestal.begin() + to);
      std::copy_n(one.calibration.gain.begin() + from, count, all.calibration.gain.begin() + to);
    }
    std::copy_n(one.calibration.mask.begin(), static_cast<std::ptrdiff_t>(module_pixels),
                all.calibration.mask.begin() + static_cast<std::ptrdiff_t>(module * module_pixels));
  }
  return all;
}

/// Rings of 1000 bins around the middle of the image.
kernel::azimuthal::Config rings(std::uint32_t width, std::uint32_t height) {
  constexpr std::size_t kBins = 1000;
  kernel::azimuthal::Config config{.errors = kernel::azimuthal::Errors::poisson};
  config.width = width;
  const double x = width / 2.0, y = height / 2.0;
  for (std::size_t bin = 0; bin < kBins; ++bin) config.radial_axis.push_back(static_cast<double>(bin));
  for (std::uint32_t row = 0; row < height; ++row) {
    for (std::uint32_t column = 0; column < width; ++column) {
      const double part = std::hypot(column - x, row - y) / std::hypot(x, y);
      config.bins.push_back(static_cast<std::uint32_t>(std::min(part * kBins, kBins - 1.0)));
    }
  }
  config.norm.assign(std::size_t{width} * height, 1);
  return config;
}

/// Photons and their count; with `full` curves and peaks of every image before one of ten is kept, then its list.
std::vector<kernel::StepOf> kernels_of(const Arguments& arguments, std::uint32_t width, std::uint32_t height) {
  const std::uint32_t modules = arguments.detector.modules;
  const std::uint32_t hit = modules * 60;  // bright pixels
  if (!arguments.full) return {calibration(modules), kernel::bragg_count::Config{20, hit}};
  const kernel::peakfinder8::Config peaks{.threshold = 10,
                                          .beam_x = width / 2.0,
                                          .beam_y = height / 2.0,
                                          .panel_width = Detector::kWidth,
                                          .panel_height = Detector::kHeight,
                                          .max_peaks = 20'000};
  kernel::veto::Config hits;
  hits.keep = fmt::format("bright_pixels >= {} and n_peaks >= 1", hit);
  hits.reason = "no_hit";
  return {calibration(modules), kernel::bragg_count::Config{20, 0}, rings(width, height), peaks, hits,
          kernel::csr::Config{}};
}

receiver::Config config_of(const Arguments& arguments) {
  const std::uint32_t modules = arguments.detector.modules;
  receiver::BufferConfig buffer;
  buffer.name = "full";
  buffer.width = Detector::kWidth;
  buffer.height = Detector::kHeight * modules;
  buffer.slots = arguments.slots;
  buffer.stack = arguments.stack;
  buffer.images = arguments.detector.frames;
  buffer.deadline_ms = 5'000;
  buffer.unit = arguments.unit;
  buffer.pipeline.kernels = kernels_of(arguments, buffer.width, buffer.height);
  buffer.sinks.emplace_back([](const receiver::Output& output) {
    return std::make_unique<sink::NullSink>(std::uint64_t{output.width} * output.height * pixel_bytes(output.pixel));
  });
  for (std::uint32_t module = 0; module < modules; ++module) {
    buffer.dtps.push_back({.id = module,
                           .module = module,
                           .x = 0,
                           .y = module * Detector::kHeight,
                           .width = Detector::kWidth,
                           .height = Detector::kHeight});
  }
  receiver::Config config;
  config.buffers.push_back(std::move(buffer));
  config.link = link::pcie::Options{.verify = arguments.verify};
  config.source_link = "pcie";
  config.link_threads = arguments.link_threads;
  config.poll = arguments.poll;
  config.run = 1;
  return config;
}

void latency_rows(bool json, const std::string& what, const Histogram& histogram) {
  row(json, what + ", p50", static_cast<double>(histogram.percentile_ns(0.5)) * 1e-3, "us");
  row(json, what + ", p99", static_cast<double>(histogram.percentile_ns(0.99)) * 1e-3, "us");
  row(json, what + ", max", static_cast<double>(histogram.max_ns()) * 1e-3, "us");
}

/// What the machine's memory and bus allow, in the same run.
double floor_row(const Arguments& arguments) {
  if (arguments.floor_threads == 0) return 0;
#ifdef RASHPA_HAVE_CUDA
  const std::size_t module_bytes = std::size_t{Detector::kWidth} * Detector::kHeight * sizeof(std::uint16_t);
  const double floor = memory_floor({.image_bytes = arguments.detector.modules * module_bytes,
                                     .parts = arguments.detector.modules,
                                     .stack = arguments.stack,
                                     .slots = arguments.slots,
                                     .threads = arguments.floor_threads},
                                    kFloorSeconds);
  row(arguments.json,
      fmt::format("{} threads copy past the caches into the ring, and the device reads it: pixels",
                  arguments.floor_threads),
      floor * 1e-9, "GB/s");
  return floor;
#else
  throw ConfigError("chain_bench: --floor needs a program with CUDA");
#endif
}

int run(const Arguments& arguments) {
  SourceProcess source(arguments.detector);  // before any thread
  receiver::Receiver receiver(config_of(arguments));
  receiver.arm(source.connect(receiver.endpoints(), receiver.placements(), 1));
  receiver.start();
  source.start();
  const double sent_s = source.wait();
  receiver.finish();
  const bool ended = receiver.wait(60);
  const receiver::Status status = receiver.status();
  const receiver::BufferStatus& buffer = status.buffers.front();
  const double bytes = static_cast<double>(buffer.books.expected) * Detector::kWidth * Detector::kHeight *
                       arguments.detector.modules * sizeof(std::uint16_t);
  const double floor = floor_row(arguments);
  const std::string name =
      fmt::format("{} modules, stack {}, verify {}, {}{}", arguments.detector.modules, arguments.stack,
                  arguments.verify_name, name_of(arguments.unit.kind), arguments.full ? ", all kernels" : "");
  fmt::print(stderr, "unit: {}; memory: {}; {}\n", buffer.unit, status.memory, status.first_incomplete);
  row(arguments.json, name + ": source's rate", bytes / sent_s * 1e-9, "GB/s");
  row(arguments.json, name + ": first packet to last decision", bytes / status.elapsed_s * 1e-9, "GB/s");
  if (floor > 0) row(arguments.json, name + ": of that floor", 100 * bytes / status.elapsed_s / floor, "%");
  row(arguments.json, name + ": images a second", static_cast<double>(buffer.books.expected) / status.elapsed_s, "1/s");
  row(arguments.json, name + ": images expected", static_cast<double>(buffer.books.expected), "images");
  row(arguments.json, name + ": images complete", static_cast<double>(buffer.books.complete), "images");
  row(arguments.json, name + ": images accepted", static_cast<double>(buffer.books.accepted), "images");
  row(arguments.json, name + ": images written", static_cast<double>(buffer.books.written), "images");
  const bool explained = ended && buffer.books.balanced() && buffer.books.complete == buffer.books.expected &&
                         buffer.unit_error.empty() && buffer.sink_error.empty();
  row(arguments.json, name + ": unexplained images",
      static_cast<double>(buffer.books.expected - buffer.books.complete) + (explained ? 0 : 1), "images");
  latency_rows(arguments.json, name + ": last byte to stack ready", *buffer.ready);
  latency_rows(arguments.json, name + ": stack ready to decided, in host memory", *buffer.decision);
  latency_rows(arguments.json, name + ": decided to taken by the sink", *buffer.written);
  receiver.stop();
  return explained ? 0 : 1;
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--json") {
      arguments.json = true;
      continue;
    }
    if (i + 1 == count) throw ConfigError("chain_bench: " + name + " needs a value");
    const std::string value = values[++i];
    if (name == "--modules") {
      arguments.detector.modules = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--frames") {
      arguments.detector.frames = std::stoull(value);
    } else if (name == "--rate") {
      arguments.detector.rate_hz = std::stod(value);
    } else if (name == "--stack") {
      arguments.stack = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--slots") {
      arguments.slots = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--link-threads") {
      arguments.link_threads = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--unit") {
      arguments.unit.kind = unit::kind_of(value);
    } else if (name == "--threads") {
      arguments.unit.cores.threads = static_cast<unsigned>(std::stoul(value));
    } else if (name == "--trigger") {
      arguments.unit.trigger = unit::trigger_of(value);
    } else if (name == "--floor") {
      arguments.floor_threads = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--pipeline") {
      if (value != "count" && value != "full") throw ConfigError("chain_bench: --pipeline count or full");
      arguments.full = value == "full";
    } else if (name == "--poll") {
      arguments.poll = value == "spin"    ? scheduler::Poll::spin
                       : value == "event" ? scheduler::Poll::event
                                          : throw ConfigError("chain_bench: --poll spin or event");
    } else if (name == "--verify") {
      arguments.verify_name = value;
      arguments.verify = value == "all"       ? link::Verify::all
                         : value == "sampled" ? link::Verify::sampled
                         : value == "off"     ? link::Verify::off
                                              : throw ConfigError("chain_bench: --verify all, sampled or off");
    } else {
      throw ConfigError(
          "chain_bench: no option " + name +
          "; there are --modules --frames --rate --stack --slots --link-threads --unit --threads --trigger "
          "--poll --verify --floor --pipeline --json");
    }
  }
  return arguments;
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
