// SPDX-License-Identifier: Apache-2.0
/// Images of members that are late or given up are dealt again.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "rashpa/transfer/testing/farm_testing.hpp"

namespace rashpa::transfer {
namespace {

TEST(DealtAgain, what_a_dead_member_had_goes_to_others_within_the_response_time) {
  Farm farm(config(3000));
  farm.rounds(50);
  farm.members[1].answers = farm.members[1].sends = false;
  const std::int64_t died = farm.now;
  const std::uint64_t had = farm.members[1].done;
  std::int64_t last_given = died;
  std::uint64_t dealt = farm.dealer.status().members[1].dealt;
  for (int i = 0; i < 2000; ++i) {
    farm.round();
    if (const std::uint64_t more = farm.dealer.status().members[1].dealt; more != dealt) {
      dealt = more;
      last_given = farm.now;
    }
  }
  EXPECT_LE(last_given - died, 110 * kMs);
  auto found = farm.frames(1);
  found.insert(farm.members[1].frames.begin(), farm.members[1].frames.begin() + static_cast<std::ptrdiff_t>(had));
  EXPECT_EQ(found, all_of(3000)) << "no frame is missing, and none is there twice";
  const GroupStatus status = farm.dealer.status();
  EXPECT_TRUE(status.settled);
  EXPECT_EQ(status.members[1].state, MemberState::late);
  EXPECT_EQ(status.members[1].lates, 1U);
  EXPECT_EQ(status.resent, dealt - had);
  EXPECT_EQ(status.resent, status.members[1].taken);
  EXPECT_EQ(status.members[0].resent + status.members[2].resent, status.resent);
}

TEST(DealtAgain, what_is_dealt_again_goes_before_what_is_fresh) {
  DealerConfig paced = config(4000);
  paced.rate_hz = 1000;
  Farm farm(paced);
  farm.rounds(60);
  farm.members[0].answers = false;
  farm.rounds(10);
  farm.dealer.eject(0, farm.members[0].done);
  const std::uint64_t waiting = farm.dealer.status().waiting;
  ASSERT_GT(waiting, 0U);
  const std::uint64_t fresh = farm.dealer.status().fresh;
  farm.dealer.step(farm.now);  // no frame has become due
  EXPECT_EQ(farm.dealer.status().waiting, 0U);
  EXPECT_EQ(farm.dealer.status().fresh, fresh);
}

TEST(DealtAgain, what_credits_have_proven_is_not_dealt_again_whatever_was_heard_by_who_gives_a_member_up) {
  Farm farm(config(20000));
  farm.rounds(30);
  farm.members[0].answers = false;
  farm.rounds(1);
  ASSERT_GT(farm.dealer.status().members[0].done, 0U);
  farm.dealer.eject(0, 0);
  const GroupStatus status = farm.dealer.status();
  EXPECT_EQ(status.members[0].taken, status.members[0].dealt - status.members[0].done);
  EXPECT_EQ(status.lost, 0U);
}

TEST(DealtAgain, a_member_that_is_heard_again_is_fed_and_its_late_images_are_duplicates) {
  Farm farm(config(20000));
  farm.rounds(30);
  farm.members[2].answers = false;
  farm.rounds(200);
  ASSERT_EQ(farm.dealer.status().members[2].state, MemberState::late);
  const std::uint64_t dealt = farm.dealer.status().members[2].dealt;
  const std::uint64_t owed = dealt - farm.members[2].done;
  farm.members[2].answers = true;
  farm.rounds(3);
  EXPECT_EQ(farm.dealer.status().members[2].state, MemberState::fed);
  EXPECT_GT(farm.dealer.status().members[2].dealt, dealt);
  EXPECT_EQ(farm.dealer.status().duplicates, owed);
  EXPECT_EQ(farm.dealer.status().members[2].duplicates, owed);
  farm.rounds(3000);
  EXPECT_TRUE(farm.dealer.status().settled);
  auto once = farm.frames();
  EXPECT_EQ(once.size(), 20000U + owed);
  EXPECT_EQ(std::set<std::uint64_t>(once.begin(), once.end()).size(), 20000U);
}

TEST(DealtAgain, an_image_that_comes_after_all_is_not_sent_again) {
  Farm farm(config(6));  // a stack each
  for (auto& member : farm.members) member.answers = false;
  farm.rounds(3);
  ASSERT_EQ(farm.members[0].sent, 2U);
  farm.dealer.feed(1, false);
  farm.dealer.feed(2, false);
  farm.rounds(1200);  // member 0 is late and nobody else is fed
  ASSERT_EQ(farm.dealer.status().members[0].state, MemberState::late);
  EXPECT_EQ(farm.dealer.status().waiting, 2U);
  farm.members[0].answers = true;
  farm.rounds(2);
  EXPECT_EQ(farm.dealer.status().waiting, 0U);
  EXPECT_EQ(farm.dealer.status().resent, 0U);
  EXPECT_EQ(farm.members[0].sent, 2U);
}

TEST(DealtAgain, frames_that_have_left_the_window_are_lost_by_count) {
  DealerConfig narrow = config(4000);
  narrow.rate_hz = 1000;
  narrow.replay_frames = 50;
  Farm farm(narrow);
  farm.rounds(50);
  farm.members[0].answers = false;
  farm.rounds(600);
  const GroupStatus status = farm.dealer.status();
  const std::uint64_t owed = status.members[0].dealt - status.members[0].done;
  EXPECT_EQ(status.lost, owed);
  EXPECT_EQ(status.resent, 0U);
  farm.members[0].answers = true;
  farm.rounds(2);
  EXPECT_EQ(farm.dealer.status().lost, 0U) << "they came after all";
  EXPECT_EQ(farm.dealer.status().duplicates, 0U);
}

TEST(DealtAgain, a_member_is_given_up_and_fed_again_by_order) {
  Farm farm(config(100000));
  farm.rounds(10);
  const std::uint64_t done = farm.members[1].done;
  ASSERT_GT(done, 4U);
  farm.dealer.eject(1, done - 4);
  const std::uint64_t given = farm.dealer.status().members[1].dealt;
  EXPECT_GE(farm.dealer.status().members[1].taken, 4U) << "what it had done is dealt again where the order says so";
  farm.rounds(20);
  EXPECT_EQ(farm.dealer.status().members[1].dealt, given);
  EXPECT_EQ(farm.dealer.status().members[1].state, MemberState::ejected);
  farm.dealer.feed(1, true);
  farm.rounds(5);
  EXPECT_GT(farm.dealer.status().members[1].dealt, given);
}

// The manager counts what was proven when it gave the member up, and no more: credits on their way change nothing.
TEST(DealtAgain, images_of_a_member_that_is_given_up_are_dealt_again_whatever_it_proves_later) {
  Farm farm(config(40));
  farm.members[1].most = 0;
  farm.rounds(3);
  farm.dealer.eject(1, 0);
  const GroupStatus given_up = farm.dealer.status();
  ASSERT_GT(given_up.members[1].taken, 1U);
  farm.members[1].most = 1'000'000;
  farm.rounds(60);
  const GroupStatus status = farm.dealer.status();
  EXPECT_EQ(status.members[1].done, given_up.members[1].done);
  EXPECT_EQ(status.resent, given_up.members[1].taken);
  EXPECT_EQ(farm.frames(1), all_of(40));
}

/// Four images and a member that is late, and heard by a single byte, `times` times, while the other is given up.
void be_late(Farm& farm, int times) {
  farm.dealer.eject(1, 0);
  farm.members[0].answers = false;
  for (int time = 0; time < times; ++time) {
    ASSERT_FALSE(farm.dealer.failed()) << farm.dealer.status().error;
    farm.rounds(1200);
    ASSERT_EQ(farm.dealer.status().members[0].state, MemberState::late) << time;
    EXPECT_GT(farm.dealer.status().waiting, 0U) << time;
    ++farm.members[0].had;
    farm.rounds(2);
    EXPECT_EQ(farm.dealer.status().waiting, 0U) << "its copies count again: " << time;
  }
}

DealerConfig few_images_for_many_slots() {
  DealerConfig out = config(4, 2);
  for (MemberConfig& member : out.members) member.slots = 64;
  return out;
}

TEST(DealtAgain, no_member_is_dealt_an_image_that_is_on_its_way_to_it) {
  Farm farm(few_images_for_many_slots());
  farm.round();
  be_late(farm, 12);
  EXPECT_FALSE(farm.dealer.failed());
  EXPECT_FALSE(farm.dealer.settled());
  farm.members[0].answers = true;
  farm.rounds(10);
  const GroupStatus status = farm.dealer.status();
  EXPECT_TRUE(status.settled);
  EXPECT_EQ(status.error, "");
  EXPECT_EQ(status.waiting + status.lost + status.duplicates, 0U);
  EXPECT_EQ(farm.frames(1), all_of(4)) << "each once";
  EXPECT_EQ(farm.dealer.dealt(0), farm.members[0].frames);
}

TEST(DealtAgain, what_was_taken_from_a_member_goes_to_another_before_it_is_given_back) {
  Farm farm(config(8, 2));  // a ring of each
  for (auto& member : farm.members) member.answers = false;
  farm.dealer.feed(1, false);
  farm.rounds(1200);
  ASSERT_EQ(farm.dealer.status().members[0].state, MemberState::late);
  ASSERT_EQ(farm.dealer.status().waiting, 8U);
  ++farm.members[0].had;
  farm.dealer.feed(1, true);
  farm.rounds(2);
  EXPECT_EQ(farm.dealer.status().members[1].resent, 8U);
  EXPECT_EQ(farm.members[0].frames.size(), 8U);
  EXPECT_EQ(farm.members[1].frames.size(), 8U);
}

TEST(DealtAgain, an_image_that_a_member_gave_up_before_it_was_sent_is_dealt_again) {
  for (const bool alone : {false, true}) {
    Farm farm(config(8, 2));
    farm.dealer.feed(1, false);
    for (std::size_t dtp = 0; dtp < 2; ++dtp) {
      farm.dealer.port(0, dtp).report(8, 0, {}, 1);
      farm.dealer.port(1, dtp).report(8, 0, {}, 1);
    }
    farm.dealer.step(1);
    for (std::uint64_t index = 0; index < 8; ++index) ASSERT_TRUE(farm.dealer.port(0, 0).frame(index));
    for (std::uint64_t index = 0; index < 5; ++index) ASSERT_TRUE(farm.dealer.port(0, 1).frame(index));
    farm.dealer.port(0, 0).report(8, 8, {}, 1);
    farm.dealer.port(0, 1).report(8, 5, {}, 1);
    farm.dealer.step(1);
    EXPECT_EQ(farm.dealer.status().members[0].taken, 0U);
    if (!alone) farm.dealer.feed(1, true);
    // The receiver no longer waits for the second DTP. It closes its stacks, and grants the next images.
    farm.dealer.port(0, 0).report(16, 8, {}, 2);
    farm.dealer.port(0, 1).report(13, 5, {}, 2);
    farm.dealer.step(2);
    EXPECT_EQ(farm.dealer.status().members[0].done, 5U);
    EXPECT_EQ(farm.dealer.status().members[0].taken, 3U) << "images 5, 6 and 7";
    const std::size_t taker = alone ? 0 : 1;
    EXPECT_EQ(farm.dealer.status().members[taker].resent, 3U);
    const std::vector<std::uint64_t> dealt = farm.dealer.dealt(taker);
    EXPECT_EQ(std::vector<std::uint64_t>(dealt.end() - 3, dealt.end()), (std::vector<std::uint64_t>{5, 6, 7}));
    // Sent after all, they are dropped: nothing is done by that.
    farm.dealer.port(0, 1).report(16, 8, {}, 3);
    farm.dealer.step(3);
    EXPECT_EQ(farm.dealer.status().members[0].done, 8U);
    EXPECT_EQ(farm.dealer.status().duplicates, 0U);
    EXPECT_FALSE(farm.dealer.settled());
  }
}

TEST(DealtAgain, a_member_that_can_be_given_no_more_is_called_so) {
  DealerConfig small = few_images_for_many_slots();
  small.most_of_member = 3;
  Farm farm(small);
  farm.dealer.eject(1, 0);
  farm.rounds(3);
  ASSERT_TRUE(farm.dealer.failed());
  EXPECT_EQ(farm.dealer.status().members[0].dealt, 3U);
  const std::string error = farm.dealer.status().error;
  EXPECT_NE(error.find("a has been given as many images as one member can be, b is given up by order"),
            std::string::npos)
      << error;
}

TEST(DealtAgain, skipping_or_waiting_a_member_is_given_back_what_was_taken_from_it) {
  for (const bool skip : {false, true}) {
    DealerConfig paced = few_images_for_many_slots();
    paced.rate_hz = 1000;
    paced.skip = skip;
    Farm farm(paced);
    farm.members[0].answers = false;
    farm.rounds(8);
    be_late(farm, 11);
    farm.members[0].answers = true;
    farm.rounds(10);
    EXPECT_TRUE(farm.dealer.settled()) << skip;
    EXPECT_EQ(farm.dealer.status().skipped, 0U) << skip;
    EXPECT_EQ(farm.frames(), all_of(4)) << skip;
    EXPECT_EQ(farm.dealer.status().error, "") << skip;
  }
}

TEST(DealtAgain, what_a_dead_member_had_is_dealt_again_while_it_is_held) {
  Farm farm(config(3000));
  farm.rounds(50);
  farm.members[1].answers = farm.members[1].sends = false;
  const std::uint64_t had = farm.members[1].done;
  farm.rounds(3);
  farm.dealer.hold(farm.dealer.begun());
  farm.rounds(400);
  auto found = farm.frames(1);
  found.insert(farm.members[1].frames.begin(), farm.members[1].frames.begin() + static_cast<std::ptrdiff_t>(had));
  EXPECT_EQ(found, all_of(farm.dealer.begun()));
  EXPECT_GT(farm.dealer.status().resent, 0U);
}

TEST(DealtAgain, what_all_others_had_is_dealt_to_one_that_joins) {
  DealerConfig paced = config(900);
  paced.rate_hz = 1000;
  Farm farm(paced);
  farm.rounds(300);
  for (std::size_t m = 0; m < 3; ++m) farm.members[m].answers = false;
  farm.rounds(400);
  const GroupStatus before = farm.dealer.status();
  ASSERT_EQ(before.waiting, 24U) << "all that three members had in their slots";
  farm.join({.name = "d", .slots = 400, .stack = 1, .dtps = 2});
  EXPECT_EQ(farm.dealer.status().waiting, 24U);
  farm.dealer.feed(3, true);
  farm.rounds(600);
  EXPECT_EQ(farm.dealer.status().resent, 24U);
  EXPECT_TRUE(farm.dealer.settled());
  std::uint64_t done = 0;
  for (std::size_t m = 0; m < 3; ++m) done += farm.members[m].done;
  EXPECT_EQ(done + farm.members[3].frames.size(), 900U);
}

}  // namespace
}  // namespace rashpa::transfer
