// SPDX-License-Identifier: Apache-2.0
// The unit by its registers: random shapes, stacks and memories; Abort at any time; every error.
#include "unit/trials.hpp"

using namespace rashpa::rtl;

namespace {

std::uint64_t all_cycles = 0;

void random_stacks(std::uint64_t seed) {
  Card card(seed);
  card.times = any_times(card.random);
  for (int job_number = 0; job_number < 2; ++job_number) {
    Job job(card, card.random.chance(50) ? card.random(1, 5000) : card.random(1, 6) * kBlockPixels);
    job.set_up();
    std::vector<Job::Stack> stacks;
    const std::uint32_t count = card.random(1, 7);
    for (std::uint32_t i = 0; i < count; ++i) {
      stacks.push_back(job.make(card.random.chance(30) ? 1 : card.random(1, 12)));
    }
    const std::uint32_t before = job.posted();
    const std::uint64_t interrupts = card.interrupts;
    for (const Job::Stack& stack : stacks) {
      while (job.posted() - job.done() >= registers::stacks::kCount) card.cycle();
      for (std::uint32_t i = card.random.chance(50) ? 0 : card.random(0, 500); i > 0; --i) card.cycle();
      job.post(stack);
    }
    check(job.wait(before + count), "seed %llu: not done", static_cast<unsigned long long>(seed));
    check(card.read(registers::status::kState) == static_cast<std::uint32_t>(State::idle), "not idle when all is done");
    check(card.interrupts - interrupts == count, "%llu interrupts of %u stacks",
          static_cast<unsigned long long>(card.interrupts - interrupts), count);
    for (const Job::Stack& stack : stacks) job.check_stack(stack);
  }
  all_cycles += card.cycles();
}

void aborted(std::uint64_t seed) {
  Card card(seed);
  card.times = any_times(card.random);
  Job job(card, card.random(1, 7000));
  job.set_up();
  for (int i = 0; i < 6; ++i) {
    for (std::uint32_t stacks = card.random(0, 4); stacks > 0; --stacks) job.post(job.make(card.random(1, 5)));
    for (std::uint32_t cycles = card.random(0, 3000); cycles > 0; --cycles) card.cycle();
    abort_now(card);
    check(job.done() == job.posted(), "behind Abort %u stacks are done of %u", job.done(), job.posted());
    works(card, job);
  }
  all_cycles += card.cycles();
}

/// Every setting reads as it was written, in as many bits as it has, and what the card says of itself as it was made.
void come_back(Card& card) {
  namespace settings = registers::settings;
  namespace identity = registers::identity;
  struct Setting {
    std::uint32_t address, mask, value;
  };
  Setting all[] = {
      {settings::kBlocks, 0xFFFF, 0},  {settings::kLast, 0x3F, 0},          {settings::kLastLanes, ~0U, 0},
      {settings::kImagePages, ~0U, 0}, {settings::kCalibrationLow, ~0U, 0}, {settings::kCalibrationHigh, ~0U, 0},
      {settings::kBright, 0xFFFF, 0},  {settings::kList, 0x1'FFFF, 0},      {settings::kListPages, 0x3'FFFF, 0}};
  for (Setting& one : all) {
    one.value = card.random.word();
    check(card.write(one.address, one.value), "%x cannot be written", one.address);
  }
  for (const Setting& one : all) {
    check(card.read(one.address) == (one.value & one.mask), "%x reads %x, not %x", one.address, card.read(one.address),
          one.value & one.mask);
  }
  check(card.read(identity::kGitHash) == 0 && card.read(identity::kClock) == 0, "what nobody has given");
  check(card.read64(identity::kMemoryBytes) == std::uint64_t{1} << 32U, "bytes of memory");
}

void errors(std::uint64_t seed) {
  Card card(seed);
  card.times = any_times(card.random);
  Job job(card, 5000);
  works(card, job);

  auto stack = job.make(3);
  const auto wrong = [&](const char* what, Error error, auto prepare, auto restore) {
    auto bad = stack;
    prepare(bad);
    const std::uint32_t first = job.posted();
    job.post(stack);
    job.post(bad);
    job.post(stack);
    expect_error(card, error, first, error == Error::calibration ? first : first + 1, what);
    restore();
    abort_now(card);
    works(card, job);
  };
  const auto nothing = [] {};
  wrong(
      "no image", Error::images, [](auto& bad) { bad.images = 0; }, nothing);
  wrong(
      "too many images", Error::images, [](auto& bad) { bad.images = 65; }, nothing);
  wrong(
      "far too many images", Error::images, [](auto& bad) { bad.images = 0x8000'0001; }, nothing);
  wrong(
      "raw words outside", Error::read, [](auto& bad) { bad.raw_page = 0x100'0000; }, nothing);
  wrong(
      "photons outside", Error::write, [](auto& bad) { bad.photons_page = 0x100'0000; }, nothing);
  wrong(
      "results outside", Error::write, [](auto& bad) { bad.results_page = 0x100'0000; }, nothing);
  wrong(
      "calibration that cannot be read", Error::calibration,
      [&](auto&) {
        card.high.bad_page = 0;
        card.low.bad_page = job.low_page() + 1;
      },
      [&] { card.low.bad_page = card.high.bad_page = ~std::uint64_t{0}; });

  card.write(registers::settings::kBlocks, 0);
  const std::uint32_t first = job.posted();
  job.post(stack);
  expect_error(card, Error::blocks, first, first, "no blocks");
  abort_now(card);
  works(card, job);

  // Settings while stacks are under way, addresses without a register.
  job.post(stack);
  check(!card.write(registers::settings::kBlocks, 1), "settings while a stack is under way");
  check(job.wait(job.posted()), "not done");
  job.check_stack(stack);
  std::uint32_t value = 0;
  for (const std::uint32_t address : {0x54U, 0x60U, 0xA8U, 0x1024U, 0x103CU, 0x2000U, 0x7F00U, 0x7FF0U, 0x4000U}) {
    check(!card.read(address, value), "%x can be read", address);
  }
  for (const std::uint32_t address : {0x0U, 0x40U, 0x50U, 0x80U, 0x1024U, 0x2014U, 0x2080U, 0x7FF0U}) {
    check(!card.write(address, 1), "%x can be written", address);
  }
  check(card.read(registers::identity::kMagic) == 0x55505352, "magic");
  check(card.read(registers::identity::kCapabilities) == (4U << 16U | 64U << 8U | 32U), "capabilities");
  check(card.write(registers::settings::kList, ~0U) && card.read(registers::settings::kList) == 0x1FFFF, "list");
  check(card.write(registers::settings::kListPages, ~0U) && card.read(registers::settings::kListPages) == 0x3FFFF,
        "list pages");
  check(card.read(registers::identity::kVersion) == 2, "version");
  check(card.read(registers::identity::kBlockPixels) == kBlockPixels, "block");
  come_back(card);
  all_cycles += card.cycles();
}

}  // namespace

int main() {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) random_stacks(seed);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) aborted(seed);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) errors(seed);
  return result(all_cycles);
}
