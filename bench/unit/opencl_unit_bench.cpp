// SPDX-License-Identifier: Apache-2.0
/// rashpa_opencl_unit_bench: the unit on an OpenCL device against the unit on processor cores, alternately, over the
/// same images in a ring that is always full. `--device D` chooses the device, `--images N` how many images a round
/// has,
/// `--modules M` of 1024 × 512 pixels an image; `--json` writes one row a line.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "../rows.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/opencl/opencl_unit.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;

struct Arguments {
  bool json = false;
  std::string device = "0";
  std::uint32_t images = 400;
  std::uint32_t modules = 2;
  std::uint32_t stack = 10;
  int rounds = 5;
};

bool json_rows = false;

void row(const std::string& what, double value, const char* unit, const std::string& against = "none",
         double against_value = 0) {
  measured::print({what, value, unit, against, against_value}, json_rows);
}

Stack* take(Unit& unit, Doorbell& bell) {
  Stack* stack = nullptr;
  for (;;) {
    const std::uint32_t seen = bell.count();
    if ((stack = unit.take()) != nullptr) return stack;
    if (!unit.error().empty()) throw ResourceError(unit.error());
    bell.wait(seen, std::chrono::milliseconds(1));
  }
}

/// Images whose pixels are there already; one in ten has spots.
struct Ring : StackRing {
  Ring(const jungfrau::Config& config, std::uint32_t stack, std::uint32_t stacks)
      : StackRing(config.calibration.width, config.calibration.height, stack, stacks, memory::MemoryKind::huge) {
    std::vector<std::vector<std::uint16_t>> frames;
    for (std::uint64_t f = 0; f < 10; ++f) {
      frames.push_back(jungfrau::synthetic::frame(config, f == 0 ? 0.002 : 0, f + 1));
    }
    std::size_t next = 0;
    for (Stack& each : all) {
      for (StackImage& image : each.view()) {
        const auto& frame = frames[next++ % frames.size()];
        std::memcpy(image.raw, frame.data(), frame.size() * 2);
      }
    }
  }
};

/// A unit with a ring of its own.
struct Runner {
  Runner(const Choice& choice, const Pipeline& pipeline, const jungfrau::Config& config, std::uint32_t stack)
      : ring(config, stack, 6), unit(make_unit(choice, pipeline, ring.layout, bell)) {}
  /// Bytes of raw pixels a second; counts the accepted images.
  double rate(std::uint32_t images) {
    const std::uint64_t stacks = images / ring.layout.stack;
    const std::uint64_t ahead = std::min<std::uint64_t>(ring.all.size(), stacks);
    const std::int64_t start = now_ns();
    std::uint64_t submitted = 0;
    for (; submitted < ahead; ++submitted) unit->submit(&ring.all[submitted]);
    accepted = 0;
    for (std::uint64_t n = 0; n < stacks; ++n) {
      for (const StackImage& image : take(*unit, bell)->view()) {
        accepted += image.decision == Decision::accepted ? 1 : 0;
      }
      if (submitted < stacks) unit->submit(&ring.all[submitted++ % ring.all.size()]);
    }
    const double bytes = static_cast<double>(stacks * ring.layout.stack) * ring.layout.width * ring.layout.height * 2;
    return bytes / static_cast<double>(now_ns() - start);
  }
  Doorbell bell;
  Ring ring;
  std::uint64_t accepted = 0;
  std::unique_ptr<Unit> unit;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const Arguments& arguments, const std::string& what, const Pipeline& pipeline,
             const jungfrau::Config& config) {
  const std::int64_t begun = now_ns();
  Runner placed({.kind = Kind::opencl, .device = arguments.device}, pipeline, config, arguments.stack);
  const double ready = static_cast<double>(now_ns() - begun) * 1e-9;
  Runner copied({.kind = Kind::opencl, .device = arguments.device, .transfer = Transfer::copied}, pipeline, config,
                arguments.stack);
  Runner cores({.kind = Kind::cpu, .cores = {.threads = 2}}, pipeline, config, arguments.stack);
  std::vector<double> rates[3];
  Runner* const runners[] = {&placed, &copied, &cores};
  for (int round = -1; round < arguments.rounds; ++round) {
    for (std::size_t r = 0; r < 3; ++r) {
      const double rate = runners[r]->rate(arguments.images);
      if (round >= 0) rates[r].push_back(rate);
    }
  }
  if (placed.accepted != cores.accepted || copied.accepted != cores.accepted) {
    throw ResourceError(
        fmt::format("{}: accepted {}, {} and {} on cpu", what, placed.accepted, copied.accepted, cores.accepted));
  }
  const std::string of = fmt::format("{}, {} modules, stack {}, {} of {} kept", what, arguments.modules,
                                     arguments.stack, cores.accepted, arguments.images);
  row(of + ", as the device does it best", median(rates[0]), "GB/s", "unit cpu, 2 threads", median(rates[2]));
  row(of + ", images copied", median(rates[1]), "GB/s", "unit cpu, 2 threads", median(rates[2]));
  row(of + ", unit ready after", ready, "s");
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    const auto number = [&] { return static_cast<std::uint32_t>(std::stoul(values[++i])); };
    if (name == "--json") {
      arguments.json = true;
    } else if (i + 1 < count && name == "--device") {
      arguments.device = values[++i];
    } else if (i + 1 < count && name == "--images") {
      arguments.images = number();
    } else if (i + 1 < count && name == "--modules") {
      arguments.modules = number();
    } else if (i + 1 < count && name == "--stack") {
      arguments.stack = number();
    } else if (i + 1 < count && name == "--rounds") {
      arguments.rounds = static_cast<int>(number());
    } else {
      throw ConfigError("opencl_unit_bench: " + name +
                        ": there are --device D --images N --modules M --stack K --rounds R --json");
    }
  }
  return arguments;
}

void run(const Arguments& arguments) {
  json_rows = arguments.json;
  const auto photons = jungfrau::synthetic::config(1024, 512 * arguments.modules, jungfrau::Output::photons, 1);
  compare(arguments, "jungfrau", {{photons}}, photons);
  compare(arguments, "jungfrau + bragg_count", {{photons, bragg_count::Config{20, 500}}}, photons);
  compare(arguments, "jungfrau + bragg_count + csr",
          {{photons, bragg_count::Config{20, 500}, kernel::csr::Config{2, 0.05}}}, photons);
  Pipeline apart{{photons, bragg_count::Config{20, 500}, kernel::csr::Config{2, 0.05}}};
  apart.passes = Passes::separate;
  compare(arguments, "the same in separate passes", apart, photons);
  compare(arguments, "total_counts of raw words", {{kernel::total_counts::Config{}}}, photons);
}

}  // namespace
}  // namespace rashpa::unit

int main(int count, char** values) {
  try {
    rashpa::unit::run(rashpa::unit::parse(count, values));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
