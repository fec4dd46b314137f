// SPDX-License-Identifier: Apache-2.0
/// rashpa_early_bench: from the last line of an image to its decision, where the unit begins with the parts of the
/// image (events = "lines:N"), beside a unit that gets the image whole. One image of 2048 x 2048 pixels at a time,
/// whose lines come evenly in 4 ms; whole and in parts by turns. One JSON document of rows {what, value, unit, against,
/// against_value, ratio} on standard output. --rounds, --threads.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../rows.hpp"
#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/unit/beginning.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

constexpr std::uint32_t kWidth = 2048, kHeight = 2048, kStacks = 4;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr std::int64_t kImageNs = 4'000'000;

kernel::azimuthal::Config rings() {
  constexpr std::size_t kBins = 1000;
  kernel::azimuthal::Config config;
  config.width = kWidth;
  for (std::size_t bin = 0; bin < kBins; ++bin) config.radial_axis.push_back(0.5 + static_cast<double>(bin));
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    const double x = static_cast<double>(pixel % kWidth) - 1024;
    const double y = static_cast<double>(pixel / kWidth) - 1024;
    config.bins.push_back(std::min(static_cast<std::uint32_t>(std::hypot(x, y) / 1449 * kBins), 999U));
    config.norm.push_back(1.0F);
  }
  return config;
}

class Bench {
 public:
  Bench(const Pipeline& pipeline, unsigned threads)
      : ring_(kWidth, kHeight, 1, kStacks, memory::MemoryKind::huge),
        unit_(make_unit({.cores = {threads, -1}}, pipeline, ring_.layout, bell_)) {
    std::mt19937 random(1);
    for (Stack& stack : ring_.all) {
      auto* const pixels = reinterpret_cast<std::uint16_t*>(stack.images[0].raw);
      for (std::size_t p = 0; p < kPixels; ++p) pixels[p] = static_cast<std::uint16_t>(random() & 7U);
    }
  }
  ~Bench() { unit_->stop(); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Returns the time from the last line to the decision, in microseconds. `lines`: those of a part; 0: the image
  /// whole.
  double round(std::uint32_t lines) {
    Stack& stack = ring_.all[number_ % kStacks];
    stack.number = number_++;
    stack.images[0].completeness = Completeness::complete;
    auto* const early = able<Beginning>(*unit_);
    const std::int64_t start = now_ns();
    std::uint32_t told = 0;
    for (std::int64_t now = start; now < start + kImageNs; now = now_ns()) {
      if (lines == 0) continue;
      const auto there = static_cast<std::uint32_t>((now - start) * kHeight / kImageNs) / lines * lines;
      if (there > told && early->begin_early(stack, 0, std::size_t{there} * kWidth)) told = there;
    }
    const std::int64_t last = now_ns();
    unit_->submit(&stack);
    while (unit_->take() == nullptr) {
    }
    return static_cast<double>(stack.decided_ns - last) / 1000;
  }

 private:
  Doorbell bell_;
  StackRing ring_;
  std::unique_ptr<Unit> unit_;
  std::uint64_t number_ = 0;
};

double quantile(std::vector<double> all, double of) {
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(of * static_cast<double>(all.size() - 1))];
}

int run(std::size_t rounds, unsigned threads) {
  std::vector<measured::Row> rows;
  const std::vector<std::pair<std::string, Pipeline>> pipelines{
      {"bragg_count", {{kernel::bragg_count::Config{.threshold = 7}}}}, {"azimuthal, 1000 bins", {{rings()}}}};
  for (const auto& [name, pipeline] : pipelines) {
    Bench bench(pipeline, threads);
    const std::vector<std::uint32_t> ways{0, 512, 64};
    std::vector<std::vector<double>> all(ways.size());
    for (std::size_t i = 0; i < rounds; ++i) {
      for (std::size_t way = 0; way < ways.size(); ++way) all[way].push_back(bench.round(ways[way]));
    }
    for (std::size_t way = 0; way < ways.size(); ++way) {
      for (const auto& [what, of] : {std::pair{"p50", 0.5}, {"p90", 0.9}}) {
        measured::Row row{.what = fmt::format("{}, {} thread(s), {}: last line to decision, {}", name, threads,
                                              ways[way] == 0 ? "image" : fmt::format("lines:{}", ways[way]), what),
                          .value = quantile(all[way], of),
                          .unit = "us"};
        if (way > 0) {
          row.against = "events = image";
          row.against_value = quantile(all[0], of);
        }
        rows.push_back(row);
      }
    }
  }
  measured::print_document(rows);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace rashpa::unit

int main(int argc, char** argv) {
  std::size_t rounds = 200;
  unsigned threads = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--rounds") rounds = std::strtoul(argv[i + 1], nullptr, 10);
    if (name == "--threads") threads = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
  }
  if (rounds == 0) {
    std::cerr << "rashpa_early_bench: --rounds is 0; give 1 or more\n";
    return EXIT_FAILURE;
  }
  return rashpa::unit::run(rounds, threads);
}
