// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/member_watch.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace rashpa::transfer {
namespace {

using News = MemberWatch::Seen::News;

constexpr std::int64_t kMs = 1'000'000;

/// A member of 8 slots in stacks of 2 that may be silent for 100 ms, and for 1 s with its first stack.
struct Watched {
  void give(int images) {
    for (int i = 0; i < images; ++i) watch.gave(now);
  }
  /// All that was given is sent; it says that `done` images are done.
  MemberWatch::Seen look(std::uint64_t done, std::int64_t open_ns = 0) {
    return watch.look({.granted = done + 8, .sent = watch.dealt(), .open_ns = open_ns}, now);
  }
  MemberWatch::Seen hear(const MemberReport& report) { return watch.look(report, now); }
  std::int64_t now = 10'000 * kMs;
  MemberWatch watch{{.name = "a", .slots = 8, .stack = 2, .dtps = 2}, {100 * kMs, 1000 * kMs}};
};

TEST(MemberWatch, has_room_for_what_it_grants_and_no_more_than_it_has_slots) {
  Watched one;
  EXPECT_FALSE(one.watch.has_room()) << "nobody has heard of it";
  one.hear({.granted = UINT64_MAX});
  one.give(8);
  EXPECT_FALSE(one.watch.has_room());
  one.hear({.granted = 4});
  EXPECT_FALSE(one.watch.has_room()) << "what was granted stays so";
}

TEST(MemberWatch, what_its_credits_prove_is_done_once) {
  Watched one;
  one.look(0);
  one.give(5);
  EXPECT_TRUE(one.watch.hand_open());
  one.now += 20 * kMs;
  one.look(0);
  one.now += 30 * kMs;
  const auto seen = one.look(4);
  EXPECT_EQ(seen.done_from, 0U);
  EXPECT_EQ(seen.done_to, 4U);
  EXPECT_EQ(one.watch.done(), 4U);
  EXPECT_EQ(one.watch.response_ns(), 30 * kMs) << "from when the stack was seen to be sent";
  const auto again = one.look(4);
  EXPECT_EQ(again.done_from, again.done_to);
}

TEST(MemberWatch, credits_prove_nothing_of_what_was_not_sent) {
  Watched one;
  one.look(0);
  one.give(4);
  const auto seen = one.hear({.granted = 12, .sent = 2});
  EXPECT_EQ(seen.done_to, 2U);
  EXPECT_TRUE(one.watch.owes());
}

TEST(MemberWatch, bytes_without_an_answer_are_silence_from_when_they_were_open) {
  Watched one;
  one.look(0);
  one.give(1);
  const std::int64_t open_ns = one.now;
  one.now += 100 * kMs;
  EXPECT_EQ(one.look(0, open_ns).news, News::nothing);
  one.now += kMs;
  EXPECT_EQ(one.look(0, open_ns).news, News::late);
  EXPECT_EQ(one.watch.silent_ns(), 101 * kMs);
}

TEST(MemberWatch, a_first_stack_may_take_longer) {
  Watched one;
  one.look(0);
  one.give(2);
  one.look(0);
  one.now += 1000 * kMs;
  EXPECT_EQ(one.look(0).news, News::nothing);
  one.now += kMs;
  EXPECT_EQ(one.look(0).news, News::late);
  EXPECT_EQ(one.watch.state(), MemberState::late);
  EXPECT_FALSE(one.watch.answers());
  EXPECT_EQ(one.watch.lates(), 1U);
  EXPECT_EQ(one.watch.silent_ns(), 101 * kMs);
}

TEST(MemberWatch, an_open_stack_is_owed_by_nobody) {
  Watched one;
  one.look(0);
  one.give(1);
  one.look(0);
  one.now += 100'000 * kMs;
  EXPECT_EQ(one.look(0).news, News::nothing);
  EXPECT_FALSE(one.watch.owes());
}

TEST(MemberWatch, what_is_not_sent_and_bytes_without_an_answer_are_silence) {
  Watched unsent;
  unsent.look(0);
  unsent.give(1);
  unsent.now += 101 * kMs;
  EXPECT_EQ(unsent.hear({.granted = 8, .sent = 0}).news, News::late);
  Watched open;
  open.look(0);
  open.give(1);
  const std::int64_t since = open.now;
  open.now += 101 * kMs;
  EXPECT_EQ(open.look(0, since).news, News::late);
}

TEST(MemberWatch, one_that_is_usually_slow_may_be_silent_for_four_times_as_long) {
  Watched one;
  one.look(0);
  one.give(2);
  one.look(0);
  one.now += 200 * kMs;
  one.look(2);
  one.give(2);
  one.look(2);
  one.now += 800 * kMs;
  EXPECT_EQ(one.look(2).news, News::nothing);
  one.now += kMs;
  EXPECT_EQ(one.look(2).news, News::late);
}

TEST(MemberWatch, a_stack_is_owed_from_when_its_last_image_was_sent) {
  Watched one;
  one.look(0);
  for (int image = 0; image < 2; ++image) {
    one.now += 500 * kMs;
    one.give(1);
    one.look(0);
  }
  one.now += 1000 * kMs;
  EXPECT_EQ(one.look(0).news, News::nothing);
  one.now += kMs;
  EXPECT_EQ(one.look(0).news, News::late);
}

TEST(MemberWatch, what_is_sent_later_is_no_excuse_for_what_was_sent_before) {
  std::int64_t now = 10'000 * kMs;
  MemberWatch two_slots{{.name = "a", .slots = 2, .stack = 1, .dtps = 1}, {100 * kMs, 1000 * kMs}};
  for (std::uint64_t sent = 1; sent <= 2; ++sent) {
    two_slots.gave(now);
    EXPECT_EQ(two_slots.look({.granted = 2, .sent = sent}, now).news, News::nothing);
    now += 500 * kMs;
  }
  now += kMs;
  EXPECT_EQ(two_slots.look({.granted = 2, .sent = 2}, now).news, News::late);
}

TEST(MemberWatch, the_usual_time_of_a_stack_moves_by_an_eighth_and_is_never_none) {
  Watched one;
  one.look(0);
  std::uint64_t done = 0;
  for (const auto& [took, usual] : {std::pair{80 * kMs, 80 * kMs}, {160 * kMs, 90 * kMs}, {10 * kMs, 80 * kMs}}) {
    one.give(2);
    one.look(done);
    one.now += took;
    done += 2;
    one.look(done);
    EXPECT_EQ(one.watch.response_ns(), usual);
  }
  Watched at_once;
  at_once.look(0);
  at_once.give(2);
  at_once.look(2);
  EXPECT_EQ(at_once.watch.response_ns(), 1) << "0 would say that it has given back none";
}

TEST(MemberWatch, one_that_owes_nothing_any_more_is_heard_again) {
  Watched one;
  one.look(0);
  one.give(1);
  const std::int64_t since = one.now;
  one.now += 101 * kMs;
  ASSERT_EQ(one.look(0, since).news, News::late);
  EXPECT_EQ(one.look(0, since).news, News::nothing);
  EXPECT_EQ(one.look(0).news, News::heard) << "no byte is open, and the stack is not full";
}

TEST(MemberWatch, is_heard_again_by_a_stack_or_by_a_byte) {
  for (const bool byte : {false, true}) {
    Watched one;
    one.look(0);
    one.give(2);
    one.look(0);
    one.now += 2000 * kMs;
    ASSERT_EQ(one.look(0).news, News::late);
    one.now += kMs;
    const MemberReport report{.granted = byte ? 8U : 10U, .sent = 2, .had = byte ? 1U : 0U};
    EXPECT_EQ(one.hear(report).news, News::heard) << byte;
    EXPECT_EQ(one.watch.state(), MemberState::fed);
  }
}

TEST(MemberWatch, time_in_which_nobody_looked_is_no_silence) {
  Watched one;
  one.look(0);
  one.give(1);
  one.now += 5000 * kMs;
  one.watch.excuse(4900 * kMs);
  EXPECT_EQ(one.hear({.granted = 8, .sent = 0}).news, News::nothing);
  one.now += kMs;
  EXPECT_EQ(one.hear({.granted = 8, .sent = 0}).news, News::late);
  EXPECT_EQ(one.watch.silent_ns(), 101 * kMs);
}

TEST(MemberWatch, what_is_sent_is_news_and_what_is_not_may_take_as_long_again) {
  for (const bool stopped : {false, true}) {
    Watched one;
    one.look(0);
    one.give(2);
    one.now += 50 * kMs;
    one.hear({.granted = 8, .sent = 1});
    one.now += 100 * kMs;
    if (stopped) {
      one.now += 4900 * kMs;
      one.watch.excuse(4900 * kMs);
    }
    EXPECT_EQ(one.hear({.granted = 8, .sent = 1}).news, News::nothing) << stopped;
    one.now += kMs;
    EXPECT_EQ(one.hear({.granted = 8, .sent = 1}).news, News::late) << stopped;
    EXPECT_EQ(one.watch.silent_ns(), 101 * kMs) << stopped;
  }
}

TEST(MemberWatch, time_in_which_nobody_looked_is_no_silence_of_a_stack_that_was_sent) {
  Watched one;
  one.look(0);
  one.give(2);
  one.look(0);
  one.now += 5000 * kMs;
  one.watch.excuse(4000 * kMs);
  EXPECT_EQ(one.look(0).news, News::nothing) << "the first one may take a second";
  one.now += kMs;
  EXPECT_EQ(one.look(0).news, News::late);
  EXPECT_EQ(one.look(2).news, News::heard);
  EXPECT_EQ(one.watch.response_ns(), 1001 * kMs) << "nor is it part of how long it took";
}

TEST(MemberWatch, time_in_which_nobody_looked_is_no_silence_of_bytes_that_were_open) {
  Watched one;
  one.look(0);
  one.give(1);
  const std::int64_t open_ns = one.now;
  one.look(0, open_ns);
  one.now += 5000 * kMs;
  one.watch.excuse(4900 * kMs);
  EXPECT_EQ(one.look(0, open_ns).news, News::nothing);
  EXPECT_EQ(one.look(0, open_ns - kMs).news, News::late)
      << "other bytes, of which the time that was left out is not known";
}

TEST(MemberWatch, a_connection_in_error_is_said_once_and_no_order_mends_it) {
  Watched one;
  one.look(0);
  one.give(4);
  one.look(2);
  const MemberReport broken{.granted = 12, .sent = 4, .in_error = true};
  const auto seen = one.hear(broken);
  EXPECT_EQ(seen.news, News::broken);
  EXPECT_EQ(seen.done_from, seen.done_to) << "what it grants is not believed any more";
  EXPECT_EQ(one.hear(broken).news, News::nothing);
  one.watch.feed(true, one.now);
  one.watch.eject();
  EXPECT_EQ(one.watch.state(), MemberState::broken);
}

TEST(MemberWatch, one_that_is_given_up_proves_nothing_until_it_is_fed_again) {
  Watched one;
  one.look(0);
  one.give(6);
  one.look(2);
  one.watch.eject();
  const auto late = one.look(4);
  EXPECT_EQ(late.done_from, late.done_to) << "its images are dealt again from the third on";
  EXPECT_EQ(one.watch.done(), 2U);
  one.watch.feed(true, one.now);
  const auto fed = one.look(4);
  EXPECT_EQ(fed.done_from, 2U);
  EXPECT_EQ(fed.done_to, 4U);
}

TEST(MemberWatch, orders_hold_feed_and_eject) {
  Watched one;
  one.look(0);
  one.watch.feed(false, one.now);
  EXPECT_EQ(one.watch.state(), MemberState::held);
  EXPECT_TRUE(one.watch.answers()) << "what it has stays its own";
  EXPECT_FALSE(one.watch.has_room());
  one.watch.feed(true, one.now);
  EXPECT_TRUE(one.watch.has_room());
  one.watch.eject();
  EXPECT_EQ(one.watch.state(), MemberState::ejected);
  EXPECT_FALSE(one.watch.answers());
}

}  // namespace
}  // namespace rashpa::transfer
