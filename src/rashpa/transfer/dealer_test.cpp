// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/dealer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/transfer/testing/farm_testing.hpp"

namespace rashpa::transfer {
namespace {

TEST(Dealer, every_frame_goes_to_one_member_in_whole_stacks) {
  DealerConfig sliced = config(101);
  sliced.slice = {3, 1};
  Farm farm(sliced);
  farm.rounds(60);
  EXPECT_EQ(farm.frames(), all_of(101, {3, 1}));
  const GroupStatus status = farm.dealer.status();
  EXPECT_TRUE(status.settled);
  EXPECT_EQ(status.resent + status.duplicates + status.lost + status.skipped, 0U);
  int open = 0;
  for (std::size_t m = 0; m < 3; ++m) {
    const auto& frames = farm.members[m].frames;
    EXPECT_GT(frames.size(), 20U) << "equal members have equal shares";
    open += frames.size() % 2 != 0 ? 1 : 0;
    for (std::size_t i = 0; i + 1 < frames.size(); i += 2)
      EXPECT_EQ(frames[i + 1], frames[i] + 3) << "a stack is whole";
    EXPECT_EQ(farm.dealer.dealt(m), frames);
  }
  EXPECT_EQ(open, 1) << "one hand is open at the end";
}

TEST(Dealer, nobody_has_more_than_its_slots) {
  Farm farm(config(1000));
  for (auto& member : farm.members) member.answers = false;
  farm.rounds(20);
  for (const auto& member : farm.members) EXPECT_EQ(member.sent, 8U);
}

TEST(Dealer, a_slow_member_gets_less_and_is_not_late) {
  Farm farm(config(3000));
  farm.members[0].most = 0;
  for (int i = 0; i < 3000 && !farm.dealer.settled(); ++i) {
    farm.members[0].most = i % 60 == 0 ? 2 : 0;  // a stack in 60 ms
    farm.members[1].most = farm.members[2].most = 2;
    farm.round();
  }
  const GroupStatus status = farm.dealer.status();
  EXPECT_TRUE(status.settled);
  EXPECT_EQ(status.members[0].lates, 0U);
  EXPECT_LT(farm.members[0].frames.size() * 4, farm.members[1].frames.size());
  EXPECT_EQ(farm.frames(), all_of(3000));
}

TEST(Dealer, a_member_whose_stacks_take_longer_than_the_response_time_is_not_late) {
  Farm farm(config(40));
  for (int i = 0; i < 20000 && !farm.dealer.settled(); ++i) {
    for (auto& member : farm.members) member.most = i % 300 == 299 ? 2 : 0;
    farm.round();
  }
  const GroupStatus status = farm.dealer.status();
  EXPECT_TRUE(status.settled);
  for (const MemberStatus& member : status.members) EXPECT_EQ(member.lates, 0U);
}

TEST(Dealer, bytes_that_nobody_answers_for_make_a_member_late_before_its_stack_is_full) {
  DealerConfig slow = config(1000);
  slow.rate_hz = 10;
  for (MemberConfig& member : slow.members) member.stack = member.slots = 8;
  Farm farm(slow);
  farm.rounds(150);
  const std::size_t current = farm.members[0].sent != 0 ? 0 : farm.members[1].sent != 0 ? 1 : 2;
  ASSERT_EQ(farm.members[current].sent, 2U);
  for (int i = 0; i < 105; ++i) {
    farm.now += kMs;
    farm.dealer.port(current, 0).report(8, 2, {4096, 4096}, farm.now);
    farm.dealer.step(farm.now);
  }
  EXPECT_EQ(farm.dealer.status().members[current].state, MemberState::late);
  EXPECT_FALSE(farm.dealer.port(current, 0).frame(1)) << "nothing is sent to who does not answer";
  farm.dealer.port(current, 1).report(8, 2, {4097, 4000}, farm.now);
  farm.dealer.step(farm.now);
  EXPECT_EQ(farm.dealer.status().members[current].state, MemberState::fed) << "a byte is an answer";
}

TEST(Dealer, a_held_member_keeps_what_it_has) {
  Farm farm(config(50));
  for (auto& member : farm.members) member.answers = false;
  farm.rounds(3);
  farm.dealer.feed(0, false);
  farm.rounds(300);
  EXPECT_EQ(farm.dealer.status().members[0].state, MemberState::held);
  EXPECT_EQ(farm.dealer.status().members[0].taken, 0U);
}

TEST(Dealer, a_connection_in_error_is_given_no_more) {
  Farm farm(config(1000));
  farm.rounds(4);
  farm.members[0].answers = farm.members[0].sends = false;
  farm.dealer.port(0, 1).report(0, farm.members[0].sent, {.in_error = true}, farm.now);
  farm.dealer.step(farm.now);
  const GroupStatus status = farm.dealer.status();
  EXPECT_EQ(status.members[0].state, MemberState::broken);
  EXPECT_EQ(status.members[0].taken, status.members[0].dealt - status.members[0].done);
}

TEST(Dealer, no_value_of_credits_says_that_a_connection_is_in_error) {
  for (const std::uint64_t word : {link::kUnlimited, link::kUnlimited - 1, std::uint64_t{1} << 63U}) {
    Farm farm(config(1000));
    farm.rounds(4);
    for (std::size_t dtp = 0; dtp < 2; ++dtp) farm.dealer.port(0, dtp).report(word, farm.members[0].sent, {}, farm.now);
    farm.dealer.step(farm.now);
    const GroupStatus status = farm.dealer.status();
    EXPECT_EQ(status.members[0].state, MemberState::fed) << word;
    EXPECT_EQ(status.members[0].taken, 0U) << word;
    EXPECT_LE(status.members[0].dealt, farm.members[0].sent + config(1000).members[0].slots)
        << "as much as it has slots, and no more";
  }
}

TEST(Dealer, says_clearly_that_nobody_is_left) {
  Farm ejected(config(1000));
  ejected.rounds(2);
  for (std::size_t m = 0; m < 3; ++m) ejected.dealer.eject(m, ejected.members[m].done);
  ejected.round();
  EXPECT_TRUE(ejected.dealer.failed());
  EXPECT_NE(ejected.dealer.status().error.find("nobody is left"), std::string::npos);

  DealerConfig patient = config(1000);
  patient.patience_ns = 2000 * kMs;
  Farm silent(patient);
  silent.rounds(2);
  for (auto& member : silent.members) member.answers = false;
  silent.rounds(1500);
  EXPECT_FALSE(silent.dealer.failed()) << "they may come back";
  silent.rounds(2000);
  EXPECT_TRUE(silent.dealer.failed());
  EXPECT_NE(silent.dealer.status().error.find("b is late"), std::string::npos);
}

TEST(Dealer, an_error_calls_each_member_by_its_state) {
  DealerConfig patient = config(1000, 4);
  patient.patience_ns = 500 * kMs;
  Farm farm(patient);
  farm.rounds(2);
  for (auto& member : farm.members) member.answers = false;
  farm.dealer.eject(1, 0);
  farm.dealer.feed(2, false);
  farm.members[3].sends = false;
  farm.dealer.port(3, 0).report(0, farm.members[3].sent, {.in_error = true}, farm.now);
  farm.dealer.step(farm.now);
  farm.rounds(2000);
  ASSERT_TRUE(farm.dealer.failed());
  const std::string error = farm.dealer.status().error;
  EXPECT_NE(error.find("a is late, b is given up by order, c is held by order, d has a broken connection"),
            std::string::npos)
      << error;
}

TEST(Dealer, held_it_deals_nothing_fresh_and_leaves_no_image_half_sent) {
  DealerConfig sliced = config(300);
  sliced.slice = {3, 1};
  Farm farm(sliced);
  farm.dealer.hold(100);  // of 1, 4, …, 97, 100
  farm.rounds(60);
  EXPECT_EQ(farm.frames(), all_of(33, {3, 1}));
  EXPECT_EQ(farm.dealer.begun(), 98U);
  for (std::size_t m = 0; m < 3; ++m) EXPECT_EQ(farm.dealer.dealt(m), farm.members[m].frames);
  EXPECT_FALSE(farm.dealer.settled());
  farm.dealer.hold(kNoHold);
  farm.rounds(200);
  EXPECT_EQ(farm.frames(), all_of(300, {3, 1}));
  for (const MemberStatus& member : farm.dealer.status().members)
    EXPECT_EQ(member.lates, 0U) << "a pause is no silence";
}

TEST(Dealer, deals_at_the_pace_that_it_is_given) {
  DealerConfig paced = config(1000);
  paced.rate_hz = 1000;
  Farm farm(paced);
  farm.rounds(50);
  const std::uint64_t begun = farm.dealer.begun();
  EXPECT_EQ(begun, 51U);
  farm.dealer.hold(begun);
  farm.rounds(100);
  EXPECT_EQ(farm.dealer.begun(), begun);
  farm.dealer.set_pace({.rate_hz = 100, .frame = begun, .start_ns = farm.now});
  farm.dealer.hold(kNoHold);
  farm.rounds(100);
  EXPECT_EQ(farm.dealer.begun(), begun + 11);
}

TEST(Dealer, a_member_that_joins_is_fed_when_ordered_and_takes_its_share) {
  DealerConfig paced = config(4000);
  paced.rate_hz = 1000;
  Farm farm(paced);
  farm.rounds(1000);
  farm.join({.name = "late", .slots = 12, .stack = 3, .dtps = 2});
  farm.rounds(100);
  EXPECT_EQ(farm.dealer.status().members[3].dealt, 0U);
  EXPECT_EQ(farm.dealer.status().members[3].state, MemberState::held);
  EXPECT_EQ(farm.dealer.find("late"), 3U);
  EXPECT_EQ(farm.dealer.find("a"), 0U);
  farm.dealer.feed(3, true);
  farm.rounds(4000);
  EXPECT_TRUE(farm.dealer.settled());
  EXPECT_EQ(farm.frames(), all_of(4000));
  EXPECT_GT(farm.members[3].frames.size(), 500U);
  EXPECT_GE(farm.members[3].frames.front(), 1100U - 24U);
  EXPECT_EQ(farm.dealer.status().members[3].name, "late");
}

TEST(Dealer, one_that_cannot_join_goes_again) {
  Farm farm(config(100));
  EXPECT_THROW(farm.dealer.join({.name = "b", .slots = 8, .stack = 2, .dtps = 1}), ConfigError);
  EXPECT_THROW(farm.dealer.join({.name = "d", .slots = 8, .stack = 3, .dtps = 1}), ConfigError);
  EXPECT_EQ(farm.dealer.join({.name = "d", .slots = 8, .stack = 2, .dtps = 1}), 3U);
  farm.dealer.withdraw();
  EXPECT_FALSE(farm.dealer.find("d"));
  farm.rounds(100);
  EXPECT_EQ(farm.frames(), all_of(100));
}

TEST(Dealer, says_how_long_ago_a_member_was_given_an_image) {
  Farm farm(config(12));
  farm.rounds(10);
  farm.rounds(50);
  for (const MemberStatus& member : farm.dealer.status().members) {
    EXPECT_GE(member.given_ago_ns, 50 * kMs);
    EXPECT_LE(member.given_ago_ns, 60 * kMs);
  }
}

TEST(Dealer, skips_what_is_due_without_credit_when_told_to) {
  DealerConfig skipping = config(200);
  skipping.skip = true;
  skipping.rate_hz = 1000;
  Farm farm(skipping);
  for (auto& member : farm.members) member.answers = false;
  farm.rounds(90);
  EXPECT_GT(farm.dealer.status().skipped, 0U);
  EXPECT_EQ(farm.dealer.status().skipped + 24, farm.dealer.status().fresh);
}

TEST(Dealer, time_in_which_it_did_not_run_is_held_against_nobody) {
  Farm farm(config(3000));
  farm.rounds(20);
  farm.now += 2000 * kMs;  // the process was stopped
  farm.dealer.step(farm.now);
  for (const MemberStatus& member : farm.dealer.status().members) EXPECT_EQ(member.lates, 0U);
}

TEST(Dealer, time_in_which_it_did_not_run_is_not_held_against_one_that_was_given_an_image_before_it) {
  DealerConfig slow = config(1000, 2);
  slow.first_response_ns = slow.response_ns;
  Farm farm(slow);
  farm.rounds(10);
  farm.dealer.hold(farm.dealer.begun());
  farm.rounds(5000);  // idle, and nothing is owed
  for (auto& member : farm.members) member.answers = member.sends = false;
  farm.dealer.hold(kNoHold);
  farm.round();  // each is given images
  farm.now += 2000 * kMs;
  farm.dealer.step(farm.now);
  for (const MemberStatus& member : farm.dealer.status().members) EXPECT_EQ(member.lates, 0U);
  farm.rounds(70);
  for (const MemberStatus& member : farm.dealer.status().members) EXPECT_EQ(member.lates, 0U);
  farm.rounds(10);  // 25 ms of the stop are a step that may take so long
  for (const MemberStatus& member : farm.dealer.status().members) EXPECT_EQ(member.lates, 1U);
}

TEST(Dealer, of_a_step_that_takes_long_what_is_beyond_a_quarter_of_the_response_time_is_held_against_nobody) {
  DealerConfig quick = config(1000);
  quick.first_response_ns = quick.response_ns;  // 100 ms
  Farm farm(quick);
  for (auto& member : farm.members) member.answers = false;
  farm.rounds(3);
  farm.dealer.feed(0, true);  // its silence begins now
  farm.rounds(4, 30 * kMs);   // of each, 25 ms count
  EXPECT_EQ(farm.dealer.status().members[0].state, MemberState::fed);
  farm.round(30 * kMs);
  EXPECT_EQ(farm.dealer.status().members[0].state, MemberState::late);
  EXPECT_EQ(farm.dealer.status().members[0].silent_ns, 125 * kMs);
}

TEST(Dealer, nobody_is_left_when_nobody_was_fed_for_so_long_however_long_it_ran_before) {
  DealerConfig patient = config(100'000, 2);
  patient.patience_ns = 2000 * kMs;
  Farm farm(patient);
  farm.now = 10'000 * kMs;  // of a clock that began long ago
  farm.dealer.begin(farm.now);
  for (std::size_t m = 0; m < 2; ++m) farm.dealer.feed(m, false);
  farm.rounds(2000);
  EXPECT_FALSE(farm.dealer.failed()) << "they are held, and may be fed again";
  for (std::size_t m = 0; m < 2; ++m) farm.dealer.feed(m, true);
  farm.rounds(3000);
  for (std::size_t m = 0; m < 2; ++m) farm.dealer.feed(m, false);
  farm.rounds(2000);
  EXPECT_FALSE(farm.dealer.failed()) << "it counts from when one was fed";
  farm.round();
  EXPECT_TRUE(farm.dealer.failed());
}

TEST(Dealer, bytes_that_were_answered_are_open_no_more) {
  DealerConfig slow = config(1000);
  slow.rate_hz = 10;
  for (MemberConfig& member : slow.members) member.stack = member.slots = 8;
  Farm farm(slow);
  farm.rounds(150);
  const std::size_t current = farm.members[0].sent != 0 ? 0 : farm.members[1].sent != 0 ? 1 : 2;
  farm.dealer.hold(0);  // nothing more comes
  farm.dealer.port(current, 0).report(8, 2, {.had = 4096, .open = 4096}, farm.now);
  farm.dealer.port(current, 0).report(8, 2, {.had = 4096, .open = 0}, farm.now);
  for (int i = 0; i < 300; ++i) farm.dealer.step(farm.now += kMs);
  EXPECT_EQ(farm.dealer.status().members[current].lates, 0U);
}

TEST(Dealer, what_is_to_be_dealt_again_is_not_settled) {
  Farm farm(config(101));
  farm.rounds(60);
  ASSERT_TRUE(farm.dealer.settled());
  const auto open = std::find_if(farm.members.begin(), farm.members.end(), [](const auto& member) {
    return member.done < member.sent;  // its last stack is not full
  });
  ASSERT_NE(open, farm.members.end());
  farm.dealer.eject(static_cast<std::size_t>(open - farm.members.begin()), open->done);
  EXPECT_FALSE(farm.dealer.settled()) << "at once, whoever asks";
  farm.rounds(10);
  EXPECT_TRUE(farm.dealer.settled());
}

TEST(Dealer, says_when_its_next_step_is_due) {
  DealerConfig slow = config(30);
  slow.rate_hz = 0.5;
  Farm seldom(slow);
  seldom.round();
  EXPECT_EQ(seldom.dealer.step(seldom.now), 2000 * kMs);

  DealerConfig paced = config(30);
  paced.rate_hz = 1000;
  Farm farm(paced);
  farm.round();  // at 1 ms, frames 0 and 1
  EXPECT_EQ(farm.dealer.step(farm.now), 2 * kMs) << "the next frame is due";
  for (auto& member : farm.members) member.answers = false;
  farm.rounds(40);
  EXPECT_EQ(farm.dealer.step(farm.now), farm.now + 50'000) << "a frame is due, and nobody has a free slot";
  for (auto& member : farm.members) member.answers = true;
  farm.rounds(20);
  ASSERT_TRUE(farm.dealer.settled());
  EXPECT_EQ(farm.dealer.step(farm.now), farm.now + 500'000) << "nothing is left";
}

TEST(Dealer, a_stack_goes_to_the_member_with_fewer_images_to_do_however_many_it_has_done) {
  Farm farm(config(1000, 2));
  farm.dealer.feed(1, false);
  farm.dealer.hold(40);
  farm.rounds(40);
  ASSERT_EQ(farm.dealer.status().members[0].done, 40U);
  farm.members[1].answers = false;
  farm.dealer.feed(1, true);
  farm.dealer.hold(44);
  farm.dealer.step(farm.now);
  EXPECT_EQ(farm.dealer.dealt(1), (std::vector<std::uint64_t>{40, 41})) << "of equals, the next in turn";
  EXPECT_EQ(farm.dealer.status().members[0].dealt, 42U);
}

TEST(Dealer, keeps_the_rate_on_a_thread_of_its_own) {
  DealerConfig paced = config(50);
  paced.rate_hz = 1000;
  Dealer dealer(paced);
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t dtp = 0; dtp < 2; ++dtp) dealer.port(m, dtp).report(1000, 0, {}, now_ns());
  }
  const std::int64_t start = now_ns();
  std::jthread thread([&](const std::stop_token& stop) { dealer.run(stop, start); });
  ASSERT_EVENTUALLY(dealer.status().fresh >= 20);
  EXPECT_GE(now_ns() - start, 19 * kMs);
}

TEST(Dealer, refuses_what_is_no_group) {
  EXPECT_THROW(Dealer(config(10, 1)), ConfigError);
  DealerConfig odd = config(10);
  odd.members[1].slots = 7;
  EXPECT_THROW(Dealer{odd}, ConfigError);
  DealerConfig large = config(0xFFFF'FFFF);
  large.most_of_member = 16;
  EXPECT_NO_THROW(Dealer{large});
  large.images += 1;
  EXPECT_THROW(Dealer{large}, ConfigError);
}

}  // namespace
}  // namespace rashpa::transfer
