// SPDX-License-Identifier: Apache-2.0
// How many cycles an image takes, beside memory that answers 100 to 200 cycles late and pauses in one cycle of a
// hundred. Prints a row for each size and stack. Cycles: no clock is shown.
#include "unit/card.hpp"

using namespace rashpa::rtl;

namespace {

constexpr std::uint32_t kLanes = 32;

/// All images of the stack lie in one place: what they are does not matter here.
void rate(Card& card, std::uint32_t pixels, std::uint32_t images, std::uint32_t stacks, double least) {
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
  check(good, "settings are refused");
  const std::uint32_t before = card.read(registers::doorbells::kStacksPosted);
  for (std::uint32_t i = 0; i < stacks; ++i) {
    const std::uint32_t at = registers::stacks::at((before + i) % registers::stacks::kCount);
    card.write(at + registers::stacks::kRawPage, raw);
    card.write(at + registers::stacks::kPhotonsPage, raw + blocks);
    card.write(at + registers::stacks::kResultsPage, raw + 2 * blocks);
    card.write(at + registers::stacks::kImages, images);
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
  std::printf("{\"pixels\": %u, \"stack\": %u, \"cycles_an_image\": %.0f, \"beats_a_cycle\": %.4f}\n", pixels, images,
              cycles / (static_cast<double>(stacks) * images), share);
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
  return result(card.cycles());
}
