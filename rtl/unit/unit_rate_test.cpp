// SPDX-License-Identifier: Apache-2.0
// How many cycles an image takes, beside memory that answers 100 to 200 cycles late and pauses in one cycle of a
// hundred. Prints a row for each size and stack. Cycles: no clock is shown.
#include "unit/card.hpp"

using namespace rashpa::rtl;

namespace {

constexpr std::uint32_t kLanes = 32;

constexpr std::uint32_t kNoLists = ~0U;

/// Raw words of an image that make some permille of its pixels 5 photons, and the others none, at random places.
void fill(Card& card, std::uint32_t pixels, std::uint32_t calibration, std::uint32_t raw, std::uint32_t permille) {
  const Entry entry{0, 1.0F};
  std::byte* const memory = card.memory.data();
  for (std::size_t i = 0; i < std::size_t{pixels} * 3; ++i) {
    std::memcpy(memory + calibration * kBorder + i * sizeof entry, &entry, sizeof entry);
  }
  for (std::size_t p = 0; p < pixels; ++p) {
    const std::uint16_t word = card.random(1, 1000) <= permille ? 5 : 0;
    std::memcpy(memory + raw * kBorder + p * sizeof word, &word, sizeof word);
  }
}

/// All images of the stack lie in one place: without lists what they are does not matter. Lists have places of their
/// own.
void rate(Card& card, std::uint32_t pixels, std::uint32_t images, std::uint32_t stacks, double least,
          std::uint32_t permille = kNoLists) {
  namespace settings = registers::settings;
  namespace counters = registers::counters;
  const auto blocks = static_cast<std::uint32_t>(pixels / kBlockPixels);
  const std::uint32_t low = 1, high = low + kCalibrationPages * blocks, raw = high + kCalibrationPages * blocks;
  card.write(registers::doorbells::kAbort, card.read(registers::doorbells::kAbort) + 1);
  while (card.read(registers::status::kAbortDone) != card.read(registers::doorbells::kAbort)) card.cycle();
  bool good = card.write(settings::kBlocks, blocks);
  good &= card.write(settings::kLast, 63) && card.write(settings::kLastLanes, ~0U);
  good &= card.write(settings::kImagePages, 0) && card.write(settings::kBright, 1);
  good &= card.write(settings::kCalibrationLow, low) && card.write(settings::kCalibrationHigh, high);
  const bool lists = permille != kNoLists;
  const std::uint32_t list_pages = lists ? 2 * blocks : 0;
  good &= card.write(settings::kList, lists ? settings::kListOn.put(1) | settings::kListThreshold.put(1) : 0);
  good &= card.write(settings::kListPages, list_pages);
  check(good, "settings are refused");
  if (lists) fill(card, pixels, low, raw, permille);
  const std::uint32_t before = card.read(registers::doorbells::kStacksPosted);
  for (std::uint32_t i = 0; i < stacks; ++i) {
    const std::uint32_t at = registers::stacks::at((before + i) % registers::stacks::kCount);
    card.write(at + registers::stacks::kRawPage, raw);
    card.write(at + registers::stacks::kPhotonsPage, raw + blocks);
    card.write(at + registers::stacks::kResultsPage, raw + 2 * blocks);
    card.write(at + registers::stacks::kImages, images);
    card.write(at + registers::stacks::kListsPage, raw + 2 * blocks + 1);
  }
  card.write(registers::doorbells::kStacksPosted, before + stacks);
  const std::uint64_t longest = card.cycles() + 100'000 + std::uint64_t{stacks} * images * pixels;
  while (card.read(registers::status::kStacksDone) != before + stacks && card.cycles() < longest) {
    for (int i = 0; i < 100; ++i) card.cycle();
  }
  check(card.read(registers::status::kStacksDone) == before + stacks, "not done");
  const auto cycles = static_cast<double>(card.read64(counters::kCycles));
  const std::uint64_t beats = card.read64(counters::kBeats);
  check(beats == std::uint64_t{stacks} * images * pixels / kLanes, "%llu beats",
        static_cast<unsigned long long>(beats));
  const double share = static_cast<double>(beats) / cycles;
  std::printf("{\"pixels\": %u, \"stack\": %u, ", pixels, images);
  if (lists) std::printf("\"listed_permille\": %u, ", permille);
  std::printf("\"cycles_an_image\": %.0f, \"beats_a_cycle\": %.4f}\n", cycles / (static_cast<double>(stacks) * images),
              share);
  if (lists) {
    std::uint32_t record[5];
    std::memcpy(record, card.memory.data() + (raw + 2 * blocks) * kBorder, sizeof record);
    const double listed = 1000.0 * record[3] / pixels;
    check(std::abs(listed - permille) <= 0.2 + 0.05 * permille, "%g permille are listed, not %u", listed, permille);
  }
  check(share >= least, "%u pixels, stacks of %u: %.4f beats a cycle, not %.2f", pixels, images, share, least);
}

}  // namespace

int main() {
  Card card(1, std::size_t{128} << 20U);
  card.times = {100, 200, 1, 16};
  for (const std::uint32_t pixels : {1U << 19U, 1U << 20U, 1U << 22U}) {
    rate(card, pixels, 1, 2, 0.16);
    rate(card, pixels, 10, pixels == 1U << 22U ? 1 : 2, 0.98);
    if (pixels < 1U << 22U) rate(card, pixels, 40, 1, 0.98);
  }
  // Lists, by how many pixels they have.
  struct Row {
    std::uint32_t permille;
    double least;
  };
  for (const Row& row : {Row{0, 0.98}, Row{1, 0.98}, Row{10, 0.98}, Row{50, 0.98}, Row{100, 0.98}, Row{250, 0.9},
                         Row{500, 0.6}, Row{1000, 0.4}}) {
    rate(card, 1U << 19U, 10, 1, row.least, row.permille);
  }
  rate(card, 1U << 20U, 10, 2, 0.98, 1);
  return result(card.cycles());
}
