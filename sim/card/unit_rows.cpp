// SPDX-License-Identifier: Apache-2.0
#include "unit_rows.hpp"

#include <fmt/format.h>

#include <cstring>
#include <ctime>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/card/unit_card.hpp"
#include "rashpa/core/error.hpp"
#include "unit_model.hpp"

namespace rashpa::sim {

namespace {

namespace registers = card::unit_registers;
using card::kCardPage;

constexpr std::uint16_t kNoGain = 0x8000;  // bits 14 and 15 of a word that say no gain: masked

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Random words and calibration in the memory of a unit of its own.
class Stack {
 public:
  /// `lists`: of pixels from so many photons on; 0: none.
  Stack(std::uint64_t pixels, std::uint32_t images, std::uint32_t latency, std::uint32_t seed, std::int16_t lists = 0)
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
  /// Cycles. Throws StateError.
  std::uint64_t process() {
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
             {settings::kBright, 10},
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
  /// Whether no image has fewer masked pixels than words that say so: others are masked by what calibration they have.
  [[nodiscard]] bool right() const {
    for (std::uint32_t image = 0; image < images_; ++image) {
      card::UnitCounts counts;
      std::memcpy(&counts, memory_.data() + results_ + image * sizeof counts, sizeof counts);
      if (counts.masked < masked_[image] || counts.masked > pixels_) return false;
      // The threshold of lists is that of bright pixels here.
      if (lists_ != 0 && counts.listed != counts.bright) return false;
    }
    return true;
  }
  /// Of all pixels, those that are in lists.
  [[nodiscard]] double listed() const {
    std::uint64_t entries = 0;
    for (std::uint32_t image = 0; image < images_; ++image) {
      card::UnitCounts counts;
      std::memcpy(&counts, memory_.data() + results_ + image * sizeof counts, sizeof counts);
      entries += counts.listed;
    }
    return static_cast<double>(entries) / (static_cast<double>(images_) * static_cast<double>(pixels_));
  }

 private:
  std::uint32_t read(std::uint32_t address) {
    std::uint32_t value = 0;
    if (!unit_.read(address, value)) throw StateError(fmt::format("bench rtl: the unit does not read {:#x}", address));
    return value;
  }
  std::uint32_t images_;
  std::uint64_t pixels_;
  std::uint32_t blocks_;
  std::int16_t lists_;
  std::uint32_t list_pages_;
  std::vector<std::byte> memory_;
  UnitModel unit_;
  std::vector<std::uint64_t> masked_;  // by image
  std::size_t results_ = 0;
};

void print(const std::string& what, double value, const char* unit, const char* against, double against_value) {
  fmt::print(
      "{{\"what\": \"{}\", \"value\": {:.4f}, \"unit\": \"{}\", \"against\": \"{}\", \"against_value\": {:.4f}}}\n",
      what, value, unit, against, against_value);
}

}  // namespace

bool print_unit_rows(std::uint32_t latency, std::uint32_t seed) {
  bool right = true;
  for (const std::uint32_t stack : {1U, 10U}) {
    for (const std::uint64_t pixels : {std::uint64_t{1} << 19U, std::uint64_t{1} << 20U}) {
      Stack images(pixels, stack, latency, seed);
      const double began = processor_seconds();
      const auto cycles = static_cast<double>(images.process());
      const double took = processor_seconds() - began;
      right &= images.right();
      const std::string what =
          fmt::format("unit, {}M pixels, stack of {}", static_cast<double>(pixels) / (1U << 20U), stack);
      const auto beats = static_cast<double>(pixels) / card::kUnitBeatPixels;
      print(what + ": cycles an image", cycles / stack, "cycles", "beats of an image", beats);
      print(what + ": beats a cycle", beats * stack / cycles, "beats", "each cycle one", 1.0);
      if (pixels == std::uint64_t{1} << 20U && stack == 10) {
        print("unit, ten images of 1M pixels: the simulation", took, "s of one core", "what it may take", 10.0);
      }
    }
  }
  constexpr std::int16_t kBright = 10;
  Stack listed(std::uint64_t{1} << 19U, 10, latency, seed, kBright);
  const auto cycles = static_cast<double>(listed.process());
  right &= listed.right();
  const auto beats = 10 * static_cast<double>(std::uint64_t{1} << 19U) / card::kUnitBeatPixels;
  print("unit, 0.5M pixels, stack of 10, with lists: beats a cycle", beats / cycles, "beats",
        "of all pixels, those in lists", listed.listed());
  return right;
}

}  // namespace rashpa::sim
