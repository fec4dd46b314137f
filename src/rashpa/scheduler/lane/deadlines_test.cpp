// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/deadlines.hpp"

#include <gtest/gtest.h>

namespace rashpa::scheduler {
namespace {

constexpr std::int64_t kDeadline = 1'000'000;

/// Two DTPs, stacks of 4 in a ring of 8, a run of 12. Time goes by in steps that a living process makes.
struct Timed {
  explicit Timed(std::int64_t quiet_ns = 0) : deadlines(2, 8, kDeadline, quiet_ns) { live(0); }
  /// Looks until this time has gone by.
  void live(std::int64_t ns) {
    const std::int64_t end = now + ns;
    for (;;) {
      deadlines.look(now, granted);
      if (now == end) return;
      now = std::min(now + kDeadline / 8, end);
    }
  }
  void come(std::size_t dtp, std::uint64_t from, std::uint64_t end, bool heard = true) {
    for (std::uint64_t index = from; index < end; ++index) deadlines.came(dtp, index, heard);
  }
  /// Returns the answer of Deadlines::given_up() for the stack that begins with image `first`.
  std::optional<std::uint64_t> given_up(std::uint64_t first = 0, bool end_known = true) {
    return deadlines.given_up(first, first + 4, {12, end_known});
  }
  std::int64_t now = 1'000'000'000;
  std::uint64_t granted = 100;
  Deadlines deadlines;
};

TEST(Deadlines, knows_how_far_each_dtp_has_come) {
  Timed t;
  t.come(0, 0, 5);
  t.come(1, 0, 3);
  EXPECT_EQ(t.deadlines.next(0), 5U);
  EXPECT_EQ(t.deadlines.next(1), 3U);
  EXPECT_EQ(t.deadlines.due(), 5U);
  EXPECT_TRUE(t.deadlines.all_there(3));
  EXPECT_FALSE(t.deadlines.all_there(4));
  EXPECT_TRUE(t.deadlines.begun(4));
  EXPECT_FALSE(t.deadlines.begun(5));
}

TEST(Deadlines, gives_nothing_up_of_which_nothing_has_come) {
  Timed t;
  t.live(100 * kDeadline);
  EXPECT_FALSE(t.given_up());
}

TEST(Deadlines, each_image_has_its_own_deadline_and_each_answer_comes_once) {
  Timed t;
  t.come(0, 0, 1);
  t.live(kDeadline / 2);
  t.come(0, 1, 2);
  t.live(kDeadline / 2);
  EXPECT_FALSE(t.given_up()) << "not before";
  t.live(1);
  EXPECT_EQ(t.given_up(), 1U);
  EXPECT_FALSE(t.given_up());
  t.live(kDeadline / 2);
  EXPECT_EQ(t.given_up(), 2U);
}

TEST(Deadlines, a_dtp_that_was_silent_for_a_stack_is_not_waited_for_until_it_is_heard) {
  Timed t;
  t.come(0, 0, 4);
  t.live(kDeadline + 1);
  ASSERT_EQ(t.given_up(), 4U);
  t.come(1, 0, 4, false);
  t.deadlines.handed_on(4);
  t.come(0, 4, 8);
  EXPECT_EQ(t.given_up(4), 8U) << "at once";
  t.come(1, 4, 8, false);
  t.deadlines.handed_on(8);
  t.come(1, 8, 9);
  t.come(0, 8, 12);
  EXPECT_FALSE(t.given_up(8)) << "it speaks again";
}

TEST(Deadlines, a_stack_that_nobody_gave_up_makes_no_dtp_silent) {
  Timed t;
  t.come(0, 0, 4);
  t.come(1, 0, 4);
  t.deadlines.handed_on(4);
  t.come(0, 4, 8, false);  // nothing is heard in it
  t.come(1, 4, 8, false);
  t.deadlines.handed_on(8);
  t.come(0, 8, 12);
  EXPECT_FALSE(t.given_up(8));
}

TEST(Deadlines, sources_that_may_wait_for_slots_are_given_up_after_a_long_silence) {
  Timed t(3 * kDeadline);
  t.come(0, 0, 5);
  t.come(1, 0, 5);
  t.deadlines.handed_on(4);
  t.live(3 * kDeadline);
  EXPECT_FALSE(t.given_up(4));
  t.live(1);
  EXPECT_FALSE(t.given_up(4, false)) << "of a run without an end nobody knows how much is sent";
  EXPECT_EQ(t.given_up(4), 8U);
}

TEST(Deadlines, no_time_passes_while_it_is_held) {
  Timed t;
  t.come(0, 0, 4);
  t.live(0);
  t.deadlines.hold(true);
  t.live(10 * kDeadline);
  EXPECT_FALSE(t.given_up());
  t.deadlines.hold(false);
  t.live(kDeadline + 1);
  EXPECT_EQ(t.given_up(), 4U);
}

TEST(Deadlines, after_the_end_one_deadline_of_silence_ends_all_and_nothing_holds_it) {
  Timed t;
  t.come(0, 0, 2);
  t.deadlines.finish(t.now);
  t.deadlines.hold(true);
  t.live(kDeadline);
  EXPECT_FALSE(t.given_up());
  t.live(1);
  EXPECT_EQ(t.given_up(), 12U) << "the whole run";
  t.live(100 * kDeadline);
  EXPECT_FALSE(t.given_up());
}

TEST(Deadlines, an_end_that_is_told_late_gives_what_is_due_a_deadline_from_then_on) {
  Timed t;
  t.come(0, 0, 4);
  t.come(1, 0, 1);
  t.live(kDeadline / 2);
  t.deadlines.finish(t.now);
  t.deadlines.tell_end();
  t.live(kDeadline);
  EXPECT_FALSE(t.given_up()) << "it has been due for longer than that";
  t.live(1);
  EXPECT_EQ(t.given_up(), 12U);
}

TEST(Deadlines, sources_that_have_filled_their_slots_do_not_stand_still) {
  for (const std::uint64_t granted : {404U, 405U}) {
    Timed t(100 * kDeadline);
    for (std::uint64_t first = 0; first < 400; first += 4) {  // until no gap is usual
      for (const std::size_t dtp : {0U, 1U}) t.come(dtp, first, first + 4);
      t.deadlines.handed_on(first + 4);
    }
    t.come(0, 400, 404);
    t.granted = granted;
    t.live(2 * kDeadline);
    EXPECT_EQ(t.given_up(400).has_value(), granted == 404) << "time waits for one that has a slot";
  }
}

TEST(Deadlines, a_dtp_that_is_silent_after_a_stack_in_which_it_was_heard_is_waited_for_once) {
  Timed t;
  for (const std::size_t dtp : {0U, 1U}) t.come(dtp, 0, 4);
  t.deadlines.handed_on(4);
  t.come(0, 4, 8);
  t.live(kDeadline + 1);
  ASSERT_EQ(t.given_up(4), 8U);
  t.come(1, 4, 8, false);
  t.deadlines.handed_on(8);
  t.come(0, 8, 12);
  EXPECT_EQ(t.given_up(8), 12U) << "at once";
}

TEST(Deadlines, what_was_given_up_in_one_stack_makes_no_dtp_silent_in_the_next) {
  Timed t;
  t.come(0, 0, 4);
  t.come(1, 0, 1);
  t.live(kDeadline + 1);
  ASSERT_EQ(t.given_up(), 4U);
  t.come(1, 1, 4, false);
  t.deadlines.handed_on(4);
  for (const std::size_t dtp : {0U, 1U}) t.come(dtp, 4, 8, false);
  t.deadlines.handed_on(8);
  t.come(0, 8, 12);
  EXPECT_FALSE(t.given_up(8));
}

TEST(Deadlines, when_all_are_silent_what_is_not_due_is_not_given_up) {
  Timed t;
  for (const std::size_t dtp : {0U, 1U}) t.come(dtp, 0, 4);
  t.deadlines.handed_on(4);
  t.come(0, 4, 5, false);
  t.live(kDeadline + 1);
  ASSERT_EQ(t.given_up(4), 5U);
  t.come(0, 5, 8, false);
  t.come(1, 4, 8, false);
  t.deadlines.handed_on(8);  // neither was heard in it
  EXPECT_FALSE(t.given_up(8));
}

TEST(Deadlines, an_end_that_is_told_makes_no_dtp_silent) {
  Timed t;
  t.come(0, 0, 4);
  t.live(kDeadline + 1);
  ASSERT_EQ(t.given_up(), 4U);
  t.deadlines.tell_end();
  t.come(1, 0, 4, false);
  t.deadlines.handed_on(4);
  t.come(0, 4, 8);
  EXPECT_FALSE(t.given_up(4)) << "it may not have known that it should send";
}

TEST(Deadlines, the_end_holds_no_longer_what_was_held) {
  Timed t;
  t.come(0, 0, 2);
  t.deadlines.hold(true);
  t.deadlines.finish(t.now);
  t.live(kDeadline);
  EXPECT_FALSE(t.given_up());
  t.live(1);
  EXPECT_EQ(t.given_up(), 12U);
}

}  // namespace
}  // namespace rashpa::scheduler
