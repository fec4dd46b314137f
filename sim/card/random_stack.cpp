// SPDX-License-Identifier: Apache-2.0
#include "random_stack.hpp"

#include <fmt/format.h>

#include <cstring>
#include <ctime>
#include <random>
#include <utility>

#include "rashpa/card/unit_card.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::sim {

namespace {

namespace registers = card::unit_registers;
using card::kCardPage;

constexpr std::int16_t kBright = 10;       // without lists
constexpr std::uint16_t kNoGain = 0x8000;  // bits 14 and 15 of a word that say no gain: masked

}  // namespace

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

RandomStack::RandomStack(std::uint64_t pixels, std::uint32_t images, std::uint32_t latency, std::uint32_t seed,
                         std::int16_t lists)
    : images_(images),
      pixels_(pixels),
      blocks_(card::unit_blocks(pixels)),
      lists_(lists),
      list_pages_(lists == 0 ? 0 : card::unit_list_pages(pixels, pixels)),
      memory_((std::size_t{images} * (2 * blocks_ + list_pages_) +
               std::size_t{2} * card::kUnitCalibrationPages * blocks_ + 1) *
              kCardPage),
      unit_(memory_, {.memory_latency = latency, .memory_reads = 16}, seed) {
  std::mt19937_64 random(seed);
  const std::size_t calibration = std::size_t{2} * card::kUnitCalibrationPages * blocks_ * kCardPage;
  for (std::size_t at = 0; at < calibration; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(memory_.data() + at, &word, sizeof word);
  }
  for (std::uint32_t image = 0; image < images; ++image) {
    masked_.push_back(0);
    std::byte* const words = memory_.data() + calibration + std::size_t{image} * blocks_ * kCardPage;
    for (std::uint64_t pixel = 0; pixel < pixels; ++pixel) {
      const std::uint64_t drawn = random();
      const auto word = static_cast<std::uint16_t>(drawn % 50 == 0 ? kNoGain : drawn >> 48U);
      masked_.back() += word >> 14U == kNoGain >> 14U ? 1 : 0;
      std::memcpy(words + pixel * sizeof word, &word, sizeof word);
    }
  }
}

std::uint64_t RandomStack::process() {
  const std::uint32_t low = 0, high = card::kUnitCalibrationPages * blocks_, raw = 2 * high;
  const std::uint32_t photons = raw + images_ * blocks_, results = photons + images_ * blocks_;
  namespace settings = registers::settings;
  const auto at = [](std::uint32_t offset) { return registers::stacks::at(0) + offset; };
  const auto lanes_of_last = ~std::uint32_t{0};
  for (const auto& [address, value] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {settings::kBlocks, blocks_},
           {settings::kLast, settings::kLastBeats.put(card::kUnitBlockPixels / card::kUnitBeatPixels - 1)},
           {settings::kLastLanes, lanes_of_last},
           {settings::kImagePages, blocks_},
           {settings::kCalibrationLow, low},
           {settings::kCalibrationHigh, high},
           {settings::kBright, static_cast<std::uint16_t>(lists_ == 0 ? kBright : lists_)},
           {settings::kList, settings::kListThreshold.put(static_cast<std::uint16_t>(lists_)) |
                                 settings::kListOn.put(lists_ == 0 ? 0 : 1)},
           {settings::kListPages, list_pages_},
           {at(registers::stacks::kRawPage), raw},
           {at(registers::stacks::kPhotonsPage), photons},
           {at(registers::stacks::kResultsPage), results},
           {at(registers::stacks::kImages), images_},
           {at(registers::stacks::kListsPage), results + 1},
           {registers::doorbells::kStacksPosted, 1}}) {
    if (!unit_.write(address, value)) throw StateError(fmt::format("bench rtl: the unit refuses {:#x}", address));
  }
  const std::uint64_t limit = unit_.cycles() + std::uint64_t{10} * images_ * pixels_;
  while (read(registers::status::kStacksDone) != 1) {
    unit_.step(1000);
    if (unit_.cycles() > limit || read(registers::status::kError) != 0) {
      throw StateError("bench rtl: the unit does not come to the end of a stack");
    }
  }
  results_ = std::size_t{results} * kCardPage;
  return read(registers::counters::kCycles);
}

bool RandomStack::right() const {
  for (std::uint32_t image = 0; image < images_; ++image) {
    card::UnitCounts counts;
    std::memcpy(&counts, memory_.data() + results_ + image * sizeof counts, sizeof counts);
    if (counts.masked < masked_[image] || counts.masked > pixels_) return false;
    // The threshold of lists is that of bright pixels here.
    if (lists_ != 0 && counts.listed != counts.bright) return false;
  }
  return true;
}

double RandomStack::listed() const {
  std::uint64_t entries = 0;
  for (std::uint32_t image = 0; image < images_; ++image) {
    card::UnitCounts counts;
    std::memcpy(&counts, memory_.data() + results_ + image * sizeof counts, sizeof counts);
    entries += counts.listed;
  }
  return static_cast<double>(entries) / (static_cast<double>(images_) * static_cast<double>(pixels_));
}

std::uint32_t RandomStack::read(std::uint32_t address) {
  std::uint32_t value = 0;
  if (!unit_.read(address, value)) throw StateError(fmt::format("bench rtl: the unit does not read {:#x}", address));
  return value;
}

}  // namespace rashpa::sim
