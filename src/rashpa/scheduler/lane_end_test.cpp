// SPDX-License-Identifier: Apache-2.0
/// The end of a lane: known from the start, known late, or never known.
#include <gtest/gtest.h>

#include <vector>

#include "rashpa/core/log.hpp"
#include "rashpa/scheduler/lane.hpp"
#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

using testing::Bench;
using testing::kDeadline;

/// Drives a lane that does not know how many images come.
struct OpenBench : Bench {
  explicit OpenBench(std::uint32_t dtps = 2) : Bench(kMostImages, dtps, End::told) {}
};

TEST(Lane, a_hold_ends_when_nothing_more_is_sent) {
  Bench bench;
  bench.give(Bench::good(0, 0));
  bench.lane.hold_deadlines(true, 100);
  bench.lane.finish(100);
  bench.lane.hold_deadlines(true, 100);
  for (std::int64_t now = 100; now < 4 * kDeadline; now += kDeadline / 4) bench.lane.advance(now);
  EXPECT_EQ(bench.link.closed[0], 12U);
}

TEST(Lane, after_the_end_one_deadline_of_silence_closes_everything_at_once) {
  constexpr std::uint64_t kImages = 20'000;
  Bench b(kImages);
  for (std::uint64_t i = 0; i < 6; ++i) b.give(Bench::good(0, i), 1000);
  b.lane.finish(2000);
  b.give(Bench::good(0, 6), 3000);
  b.lane.advance(3000 + kDeadline);
  EXPECT_EQ(b.link.closed[0], 0U) << "that was too early";
  EXPECT_EQ(b.link.closed[1], 4U) << "the deadline of the stack in hand has run since its first image";
  b.lane.advance(3001 + kDeadline);
  EXPECT_EQ(b.link.closed[0], kImages);
  EXPECT_EQ(b.link.closed[1], kImages);
  std::uint64_t released = 0;
  const std::int64_t now = 3001 + kDeadline;  // the clock stands still: nothing is waited for any more
  for (std::uint64_t i = 0; i < kImages; ++i) {
    if (i > 6) b.give(Bench::lost(0, i, link::Loss::deadline), now);
    b.give(Bench::lost(1, i, link::Loss::deadline), now);
    if (i % 4 != 3) continue;
    ASSERT_TRUE(b.lane.advance(now)) << i;
    b.finish_stack();
    ++released;
  }
  EXPECT_EQ(released, kImages / 4);
  EXPECT_TRUE(b.lane.done());
}

TEST(Lane, the_last_stack_may_be_short_and_ends_the_lane) {
  Bench b(6, 1);
  for (std::uint64_t i = 0; i < 6; ++i) b.give(Bench::good(0, i));
  ASSERT_TRUE(b.lane.advance(100));
  EXPECT_FALSE(b.lane.done());
  ASSERT_TRUE(b.lane.advance(100));
  EXPECT_EQ(b.unit.stacks[1]->count, 2U);
  EXPECT_TRUE(b.lane.done());
}

TEST(Lane, abandoning_accounts_for_every_image_that_never_came) {
  Bench b(100);
  for (std::uint64_t i = 0; i < 5; ++i) b.give(Bench::good(0, i));
  for (std::uint64_t i = 0; i < 4; ++i) b.give(Bench::good(1, i));
  ASSERT_TRUE(b.lane.advance(100));
  b.lane.abandon(200);
  ASSERT_EQ(b.unit.stacks.size(), 2U);
  EXPECT_EQ(b.unit.stacks[1]->images[0].completeness, Completeness::partial);
  EXPECT_EQ(b.unit.stacks[1]->images[1].completeness, Completeness::missing);
  const LaneDtpStats first = b.lane.dtp_stats(0);
  const LaneDtpStats second = b.lane.dtp_stats(1);
  EXPECT_EQ(first.complete + first.partial + first.missing, 100U);
  EXPECT_EQ(second.complete, 4U);
  EXPECT_EQ(second.missing, 96U);
  EXPECT_EQ(b.lane.completeness().get(99), Completeness::missing);
  EXPECT_EQ(b.lane.first_incomplete().index, 4U);
  EXPECT_EQ(b.lane.first_incomplete().dtp, 11U);
  EXPECT_TRUE(b.lane.first_incomplete().ended) << "no deadline had passed";
}

TEST(Lane, nothing_is_said_of_images_that_only_the_end_has_left_open) {
  log::Entry entry;
  while (log::take(entry)) continue;
  Bench b(100);
  b.give(Bench::good(0, 0));
  b.lane.abandon(200);
  EXPECT_FALSE(log::take(entry)) << entry.text();
}

TEST(Lane, abandoning_a_run_of_which_all_has_come_loses_nothing) {
  Bench b(8);
  for (std::uint64_t i = 0; i < 8; ++i) {
    for (const std::uint32_t dtp : {0U, 1U}) b.give(Bench::good(dtp, i));
  }
  while (b.lane.advance(100)) continue;
  b.lane.abandon(200);
  EXPECT_FALSE(b.lane.first_incomplete().known);
  EXPECT_EQ(b.lane.dtp_stats(0).complete, 8U);
  EXPECT_EQ(b.lane.dtp_stats(0).missing, 0U);
}

TEST(Lane, a_run_that_is_ended_early_has_no_image_behind_its_end) {
  Bench b(1000, 2);
  for (std::uint64_t i = 0; i < 6; ++i) {
    b.give(Bench::good(0, i));
    b.give(Bench::good(1, i));
  }
  ASSERT_TRUE(b.lane.advance(100));
  EXPECT_EQ(b.lane.images(), 1000U);
  b.lane.finish(200, 6);
  ASSERT_TRUE(b.lane.advance(200)) << "nothing is waited for";
  EXPECT_TRUE(b.lane.done());
  EXPECT_EQ(b.lane.images(), 6U);
  EXPECT_EQ(b.unit.stacks[1]->count, 2U);
}

TEST(Lane, an_early_end_never_takes_back_what_was_decided_and_never_adds_an_image) {
  Bench b(8, 2);
  for (std::uint64_t i = 0; i < 7; ++i) b.give(Bench::good(0, i));
  b.lane.finish(200, 5);
  EXPECT_EQ(b.lane.images(), 7U);
  Bench more(8, 2);
  more.lane.finish(200, 9);
  EXPECT_EQ(more.lane.images(), 8U);
}

TEST(OpenLane, images_are_due_when_they_have_come_and_the_last_stack_is_as_long_as_the_end_says) {
  OpenBench b;
  EXPECT_EQ(b.lane.images(), 0U);
  EXPECT_FALSE(b.lane.end_known());
  for (std::uint64_t i = 0; i < 6; ++i) {
    b.give(Bench::good(0, i));
    b.give(Bench::good(1, i));
  }
  EXPECT_EQ(b.lane.images(), 6U);
  ASSERT_TRUE(b.lane.advance(100));
  EXPECT_FALSE(b.lane.advance(100));
  EXPECT_FALSE(b.lane.done());
  b.lane.finish(200, 6);
  EXPECT_TRUE(b.lane.end_known());
  ASSERT_TRUE(b.lane.advance(200)) << "nothing is waited for";
  EXPECT_TRUE(b.lane.done());
  EXPECT_EQ(b.unit.stacks[1]->count, 2U);
  EXPECT_EQ(b.lane.images(), 6U);
  EXPECT_FALSE(b.lane.first_incomplete().known);
  b.finish_stack();
  EXPECT_EQ(b.link.released[1], 6U);
}

TEST(OpenLane, a_source_that_rests_is_not_given_up_however_long_it_rests) {
  OpenBench b;
  b.give(Bench::good(0, 0), 1000);
  b.give(Bench::good(1, 0), 1000);
  EXPECT_FALSE(b.lane.advance(1000 * kDeadline));
  EXPECT_EQ(b.link.closed[0], 0U);
  EXPECT_EQ(b.link.closed[1], 0U);
}

TEST(OpenLane, each_image_that_a_dtp_lacks_has_the_deadline_from_when_another_had_it) {
  OpenBench b;
  b.give(Bench::good(0, 0), 1000);
  b.give(Bench::good(0, 1), 1000 + kDeadline / 2);
  b.lane.advance(1000 + kDeadline);
  EXPECT_EQ(b.link.closed[1], 0U);
  b.lane.advance(1001 + kDeadline);
  EXPECT_EQ(b.link.closed[1], 1U) << "of image 1 the deadline has not passed, of image 2 nobody knows";
  b.give(Bench::lost(1, 0, link::Loss::deadline), 1001 + kDeadline);
  b.lane.advance(1001 + kDeadline + kDeadline / 2);
  EXPECT_EQ(b.link.closed[1], 2U);
  EXPECT_EQ(b.link.closed[0], 0U);
}

TEST(OpenLane, a_silent_dtp_costs_one_deadline_until_it_is_heard_again) {
  OpenBench b;
  for (std::uint64_t i = 0; i < 4; ++i) b.give(Bench::good(0, i), 1000);
  b.lane.advance(1001 + kDeadline);
  EXPECT_EQ(b.link.closed[1], 4U);
  for (std::uint64_t i = 0; i < 4; ++i) b.give(Bench::lost(1, i, link::Loss::deadline));
  ASSERT_TRUE(b.lane.advance(2 * kDeadline));
  b.finish_stack();
  b.give(Bench::good(0, 4), 3 * kDeadline);
  b.lane.advance(3 * kDeadline);
  EXPECT_EQ(b.link.closed[1], 5U) << "no second wait, and not beyond what is due";
  b.give(Bench::lost(1, 4, link::Loss::deadline), 3 * kDeadline);
  b.give(Bench::good(1, 5), 4 * kDeadline);
  b.lane.advance(4 * kDeadline);
  EXPECT_EQ(b.link.closed[0], 0U) << "the other one is waited for now";
}

TEST(OpenLane, what_was_due_and_has_not_come_is_missing_one_deadline_after_the_end_was_told) {
  OpenBench b;
  for (std::uint64_t i = 0; i < 3; ++i) b.give(Bench::good(0, i), 1000);
  for (std::uint64_t i = 0; i < 2; ++i) b.give(Bench::good(1, i), 1000);
  b.lane.finish(100 * kDeadline, 5);
  EXPECT_EQ(b.lane.images(), 5U);
  b.lane.advance(101 * kDeadline);
  EXPECT_EQ(b.link.closed[1], 0U) << "it may be on its way";
  b.lane.advance(101 * kDeadline + 1);
  EXPECT_EQ(b.link.closed[0], 5U);
  EXPECT_EQ(b.link.closed[1], 5U);
  const std::int64_t now = 101 * kDeadline + 1;
  for (std::uint64_t i = 3; i < 5; ++i) b.give(Bench::lost(0, i, link::Loss::deadline), now);
  for (std::uint64_t i = 2; i < 5; ++i) b.give(Bench::lost(1, i, link::Loss::deadline), now);
  ASSERT_TRUE(b.lane.advance(now));
  ASSERT_TRUE(b.lane.advance(now));
  EXPECT_TRUE(b.lane.done());
  EXPECT_EQ(b.lane.dtp_stats(0).missing, 2U);
  EXPECT_EQ(b.lane.dtp_stats(1).missing, 3U);
  EXPECT_EQ(b.lane.first_incomplete().index, 2U);
}

TEST(OpenLane, an_image_that_came_was_due_whatever_end_is_told) {
  OpenBench b(1);
  for (std::uint64_t i = 0; i < 6; ++i) b.give(Bench::good(0, i));
  b.lane.finish(200, 3);
  EXPECT_EQ(b.lane.images(), 6U);
}

TEST(OpenLane, what_comes_behind_the_end_is_nobodys_and_counted) {
  OpenBench b(1);
  for (std::uint64_t i = 0; i < 2; ++i) b.give(Bench::good(0, i));
  b.lane.finish(200, 2);
  b.give(Bench::good(0, 2));
  ASSERT_TRUE(b.lane.advance(200));
  EXPECT_TRUE(b.lane.done());
  EXPECT_EQ(b.unit.stacks[0]->count, 2U);
  EXPECT_EQ(b.lane.dtp_stats(0).complete, 2U);
  EXPECT_EQ(b.lane.behind_end(), 1U);
}

TEST(OpenLane, abandoned_without_an_end_it_expects_what_has_come_and_no_more) {
  OpenBench b;
  for (std::uint64_t i = 0; i < 6; ++i) b.give(Bench::good(0, i));
  for (std::uint64_t i = 0; i < 5; ++i) b.give(Bench::good(1, i));
  ASSERT_TRUE(b.lane.advance(100));
  b.lane.abandon(200);
  EXPECT_EQ(b.lane.images(), 6U);
  ASSERT_EQ(b.unit.stacks.size(), 2U);
  EXPECT_EQ(b.unit.stacks[1]->count, 2U);
  EXPECT_EQ(b.unit.stacks[1]->images[1].completeness, Completeness::partial);
  EXPECT_EQ(b.lane.dtp_stats(1).missing, 1U);
  EXPECT_TRUE(b.lane.done());
}

TEST(OpenLane, a_run_of_which_nothing_came_ends_without_an_image) {
  OpenBench b;
  b.lane.finish(200, 0);
  EXPECT_TRUE(b.lane.done());
  EXPECT_EQ(b.lane.images(), 0U);
}

}  // namespace
}  // namespace rashpa::scheduler
