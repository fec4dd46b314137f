// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/chooser.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rashpa::transfer {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::optional<std::size_t> chosen(const Chooser& chooser, const std::vector<Hand>& hands) {
  return chooser.choose(hands.size(), [&](std::size_t number) { return hands[number]; });
}

TEST(Chooser, fills_the_hand_that_it_has_begun) {
  Chooser chooser;
  chooser.gave(1);
  EXPECT_EQ(chosen(chooser, {{.can_take = true}, {.can_take = true, .open = true, .unfinished = 9}}), 1U);
  EXPECT_EQ(chosen(chooser, {{.can_take = true}, {.can_take = false, .open = true}}), 0U) << "it has no free slot";
}

TEST(Chooser, a_hand_that_somebody_else_began_goes_before_an_empty_one) {
  const Chooser chooser;
  EXPECT_EQ(
      chosen(chooser, {{.can_take = true}, {.can_take = true}, {.can_take = true, .open = true, .unfinished = 9}}), 2U);
}

TEST(Chooser, takes_the_member_that_will_have_done_what_it_has_first) {
  const Chooser chooser;
  const Hand few_and_slow{.can_take = true, .unfinished = 2, .response_ns = 50 * kMs};
  const Hand many_and_fast{.can_take = true, .unfinished = 8, .response_ns = 10 * kMs};
  EXPECT_EQ(chosen(chooser, {few_and_slow, many_and_fast}), 1U);
  EXPECT_EQ(chosen(chooser, {many_and_fast, few_and_slow}), 0U);
  const Hand unknown{.can_take = true, .unfinished = 8};
  EXPECT_EQ(chosen(chooser, {many_and_fast, unknown}), 1U) << "one that has given nothing back counts as fast";
}

TEST(Chooser, equals_take_turns) {
  Chooser chooser;
  const std::vector<Hand> equal(3, {.can_take = true, .unfinished = 4, .response_ns = kMs});
  std::vector<std::size_t> turns;
  for (int i = 0; i < 6; ++i) {
    turns.push_back(chosen(chooser, equal).value_or(99));
    chooser.gave(turns.back());
  }
  EXPECT_EQ(turns, (std::vector<std::size_t>{1, 2, 0, 1, 2, 0}));
}

TEST(Chooser, begins_again_when_the_last_member_has_gone) {
  Chooser chooser;
  chooser.gave(2);
  chooser.restart();
  EXPECT_EQ(chosen(chooser, {{.can_take = true, .open = true}, {.can_take = true}}), 0U);
}

TEST(Chooser, says_when_nobody_can_take_one) {
  const Chooser chooser;
  EXPECT_FALSE(chosen(chooser, {{.open = true}, {}}));
}

}  // namespace
}  // namespace rashpa::transfer
