// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What benches of the whole unit do with it.
#include "unit/card.hpp"

namespace rashpa::rtl {

using State = registers::State;
using Error = registers::ErrorCode;

inline MemoryTimes any_times(Random& random) {
  return {random(1, 8), random(8, 200), random.chance(30) ? 0 : random(1, 60), random(1, 16)};
}

inline void abort_now(Card& card) {
  const std::uint32_t count = card.read(registers::doorbells::kAbort) + 1;
  card.write(registers::doorbells::kAbort, count);
  const std::uint64_t begin = card.cycles();
  while (card.read(registers::status::kAbortDone) != count && card.cycles() - begin < 100'000) card.cycle();
  check(card.read(registers::status::kAbortDone) == count, "Abort takes longer than 100 000 cycles");
  check(card.idle(), "Abort is done and memory is not");
  check(card.read(registers::status::kState) == static_cast<std::uint32_t>(State::idle), "not idle behind Abort");
  check(card.read(registers::status::kError) == 0, "an error behind Abort");
  const std::uint64_t worked = card.read64(registers::counters::kCycles);
  for (int i = 0; i < 50; ++i) card.cycle();
  check(card.read64(registers::counters::kCycles) == worked, "cycles are counted when nothing is under way");
}

/// Whatever was before: two stacks come out right.
inline void works(Card& card, Job& job) {
  job.set_up();
  const Job::Stack stacks[] = {job.make(3), job.make(1)};
  const std::uint32_t before = job.posted();
  for (const Job::Stack& stack : stacks) job.post(stack);
  check(job.wait(before + 2), "does not work any more");
  for (const Job::Stack& stack : stacks) job.check_stack(stack);
}

/// Stacks were posted from `first` on, and `bad` is: it is named, or one before it that is not done either.
inline void expect_error(Card& card, Error error, std::uint32_t first, std::uint32_t bad, const char* what) {
  for (int i = 0; i < 20'000 && card.read(registers::status::kState) != static_cast<std::uint32_t>(State::failed);
       ++i) {
    card.cycle();
  }
  check(card.read(registers::status::kState) == static_cast<std::uint32_t>(State::failed), "%s: not failed", what);
  check(card.read(registers::status::kError) == static_cast<std::uint32_t>(error), "%s: error %u", what,
        card.read(registers::status::kError));
  const std::uint32_t named = card.read(registers::status::kErrorStack);
  // A bad entry is seen when it is the next; memory's answers may be about a stack behind the one that is being worked
  // on.
  const bool entry = error == Error::images || error == Error::blocks;
  check(entry ? named == bad : named - first <= bad - first, "%s: stack %u, not %u", what, named, bad);
  for (int i = 0; i < 3000; ++i) card.cycle();
  check(card.read(registers::status::kStacksDone) == named, "%s: stacks are done behind it", what);
}

}  // namespace rashpa::rtl
