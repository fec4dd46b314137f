// SPDX-License-Identifier: Apache-2.0
// Lists of pixels: any shape, density, threshold, room and memory, several images and stacks; beside them a stack
// without lists; Abort at any time; what memory refuses.
#include "unit/trials.hpp"

using namespace rashpa::rtl;

namespace {

std::uint64_t all_cycles = 0, all_entries = 0, all_overflows = 0;

constexpr std::uint32_t kPermille[] = {0, 1, 10, 50, 300, 500, 1000};

Job::Lists any_lists(Random& random, std::uint32_t blocks) {
  constexpr std::int16_t kThresholds[] = {1, 1, 10, 300, 0, -1, -500, -32767, 32767};
  const std::uint32_t enough = 2 * blocks;
  return {true, kThresholds[random(0, 8)], random.chance(60) ? enough : random(0, enough)};
}

Job::Stack any_stack(Job& job, Random& random, std::uint32_t most_images) {
  const Job::Stack stack = job.make(random.chance(30) ? 1 : random(1, most_images));
  if (random.chance(85)) job.make_sparse(stack, kPermille[random(0, std::size(kPermille) - 1)]);
  return stack;
}

void random_lists(std::uint64_t seed) {
  Card card(seed, 2 * kMemoryBytes);
  card.times = any_times(card.random);
  for (int job_number = 0; job_number < 3; ++job_number) {
    Job job(card, card.random.chance(50) ? card.random(1, 9000) : card.random(1, 5) * kBlockPixels);
    if (job_number != 1 || card.random.chance(50)) job.lists = any_lists(card.random, job.blocks());
    job.set_up();
    std::vector<Job::Stack> stacks;
    const std::uint32_t count = card.random(1, 6);
    for (std::uint32_t i = 0; i < count; ++i) stacks.push_back(any_stack(job, card.random, 8));
    const std::uint32_t before = job.posted();
    for (const Job::Stack& stack : stacks) {
      while (job.posted() - job.done() >= registers::stacks::kCount) card.cycle();
      job.post(stack);
    }
    check(job.wait(before + count), "seed %llu: not done", static_cast<unsigned long long>(seed));
    for (const Job::Stack& stack : stacks) job.check_stack(stack);
    all_entries += job.entries;
    all_overflows += job.overflows;
  }
  all_cycles += card.cycles();
}

/// Every density in images of several blocks, with memory that hardly pauses: rows of full beats.
void densities() {
  Card card(7, 2 * kMemoryBytes);
  card.times = {100, 200, 1, 16};
  Job job(card, 7 * kBlockPixels - 77);
  job.lists = {true, 3, 14};
  job.set_up();
  for (const std::uint32_t permille : kPermille) {
    const Job::Stack stack = job.make(10);
    job.make_sparse(stack, permille);
    const std::uint64_t before = job.entries;
    job.post(stack);
    check(job.wait(job.posted()), "not done");
    job.check_stack(stack);
    const double found = static_cast<double>(job.entries - before) / (10.0 * (7 * kBlockPixels - 77)) * 1000;
    check(std::abs(found - permille) <= 1 + 0.1 * permille, "%g of %u per mille", found, permille);
  }
  check(job.overflows == 0, "a list has not had room");
  all_cycles += card.cycles();
}

/// Small images, one behind the other: more ends of blocks than anything else.
void many_small(std::uint64_t seed) {
  Card card(seed);
  card.times = any_times(card.random);
  Job job(card, card.random(1, 70));
  job.lists = {true, 1, 1};
  job.set_up();
  for (int i = 0; i < 3; ++i) {
    const Job::Stack stacks[] = {job.make(64), job.make(card.random(40, 64)), job.make(1)};
    for (const Job::Stack& stack : stacks) job.post(stack);
    check(job.wait(job.posted()), "seed %llu: not done", static_cast<unsigned long long>(seed));
    for (const Job::Stack& stack : stacks) job.check_stack(stack);
  }
  all_cycles += card.cycles();
}

void aborted(std::uint64_t seed) {
  Card card(seed, 2 * kMemoryBytes);
  card.times = any_times(card.random);
  Job job(card, card.random(1, 7000));
  job.lists = any_lists(card.random, job.blocks());
  job.set_up();
  for (int i = 0; i < 6; ++i) {
    for (std::uint32_t stacks = card.random(0, 4); stacks > 0; --stacks) job.post(any_stack(job, card.random, 5));
    for (std::uint32_t cycles = card.random(0, 3000); cycles > 0; --cycles) card.cycle();
    abort_now(card);
    check(job.done() == job.posted(), "behind Abort %u stacks are done of %u", job.done(), job.posted());
    works(card, job);
  }
  all_cycles += card.cycles();
}

void refused(std::uint64_t seed) {
  Card card(seed);
  card.times = any_times(card.random);
  Job job(card, 5000);
  job.lists = {true, 1, 6};
  works(card, job);
  auto stack = job.make(3), bad = stack;
  bad.lists_page = 0x100'0000;
  const std::uint32_t first = job.posted();
  for (const auto& one : {stack, bad, stack}) job.post(one);
  expect_error(card, Error::write, first, first + 1, "lists outside");
  abort_now(card);
  works(card, job);
  // Not when there is nothing to write.
  job.make_sparse(bad, 0);
  job.post(bad);
  check(job.wait(job.posted()), "a list of nothing is written");
  all_cycles += card.cycles();
}

}  // namespace

int main() {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) random_lists(seed);
  densities();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) many_small(seed);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) aborted(seed);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) refused(seed);
  check(all_entries > 1'000'000 && all_overflows > 20, "%llu entries, %llu lists without room",
        static_cast<unsigned long long>(all_entries), static_cast<unsigned long long>(all_overflows));
  return result(all_cycles);
}
