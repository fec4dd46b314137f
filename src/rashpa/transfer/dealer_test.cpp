// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/dealer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/link.hpp"

namespace rashpa::transfer {
namespace {

constexpr std::int64_t kMs = 1'000'000;

DealerConfig config(std::uint64_t images, std::size_t members = 3) {
  DealerConfig out;
  out.name = "farm";
  out.images = images;
  out.replay_frames = 100'000;
  for (std::size_t i = 0; i < members; ++i) {
    out.members.push_back({.name = std::string(1, static_cast<char>('a' + i)), .slots = 8, .stack = 2, .dtps = 2});
  }
  return out;
}

/// Receivers and DTP threads of a group in one: time goes by as the test says.
class Farm {
 public:
  explicit Farm(DealerConfig wanted) : config(wanted), dealer(std::move(wanted)), members(config.members.size()) {
    dealer.begin(0);
  }
  struct Member {
    bool sends = true, answers = true;
    std::uint64_t sent = 0, done = 0, most = 1'000'000;  // most: images done in a round
    std::uint64_t had = 0;                               // bytes that it has answered for
    std::vector<std::uint64_t> frames;                   // that it was sent
  };

  void round(std::int64_t step_ns = kMs) {
    now += step_ns;
    for (std::size_t m = 0; m < members.size(); ++m) {
      Member& member = members[m];
      while (member.sends) {
        const auto frame = dealer.port(m, 0).frame(member.sent);
        if (!frame) break;
        EXPECT_EQ(dealer.port(m, 1).frame(member.sent), frame) << "all DTPs of a member have the same frame";
        member.frames.push_back(*frame);
        ++member.sent;
      }
      const std::uint32_t stack = config.members[m].stack;
      if (member.answers) member.done = std::min(member.done + member.most, member.sent / stack * stack);
      for (std::size_t dtp = 0; dtp < config.members[m].dtps; ++dtp) {
        dealer.port(m, dtp).report(member.done + config.members[m].slots, member.sent, {.had = member.had}, now);
      }
    }
    dealer.step(now);
  }
  void join(const MemberConfig& member) {
    EXPECT_EQ(dealer.join(member), members.size());
    config.members.push_back(member);
    members.emplace_back();
  }
  void rounds(int count, std::int64_t step_ns = kMs) {
    for (int i = 0; i < count; ++i) round(step_ns);
  }
  /// Frames that members other than `without` were sent.
  [[nodiscard]] std::multiset<std::uint64_t> frames(std::optional<std::size_t> without = {}) const {
    std::multiset<std::uint64_t> all;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (m != without) all.insert(members[m].frames.begin(), members[m].frames.end());
    }
    return all;
  }

  DealerConfig config;
  Dealer dealer;
  std::vector<Member> members;
  std::int64_t now = 0;
};

std::multiset<std::uint64_t> all_of(std::uint64_t images, Slice slice = {}) {
  std::multiset<std::uint64_t> all;
  for (std::uint64_t i = 0; i < images; ++i) all.insert(slice.frame(i));
  return all;
}

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

TEST(Dealer, what_a_dead_member_had_goes_to_others_within_the_response_time) {
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

TEST(Dealer, what_is_dealt_again_goes_before_what_is_fresh) {
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

TEST(Dealer, what_credits_have_proven_is_not_dealt_again_whatever_was_heard_by_who_gives_a_member_up) {
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

TEST(Dealer, a_member_that_is_heard_again_is_fed_and_its_late_images_are_duplicates) {
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

TEST(Dealer, an_image_that_comes_after_all_is_not_sent_again) {
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

TEST(Dealer, frames_that_have_left_the_window_are_lost_by_count) {
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

TEST(Dealer, a_member_is_given_up_and_fed_again_by_order) {
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
TEST(Dealer, images_of_a_member_that_is_given_up_are_dealt_again_whatever_it_proves_later) {
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

TEST(Dealer, no_member_is_dealt_an_image_that_is_on_its_way_to_it) {
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

TEST(Dealer, what_was_taken_from_a_member_goes_to_another_before_it_is_given_back) {
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

TEST(Dealer, an_image_that_a_member_gave_up_before_it_was_sent_is_dealt_again) {
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

TEST(Dealer, a_member_that_can_be_given_no_more_is_called_so) {
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

TEST(Dealer, skipping_or_waiting_a_member_is_given_back_what_was_taken_from_it) {
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

TEST(Dealer, what_a_dead_member_had_is_dealt_again_while_it_is_held) {
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
  farm.dealer.feed(3, true);
  farm.rounds(4000);
  EXPECT_TRUE(farm.dealer.settled());
  EXPECT_EQ(farm.frames(), all_of(4000));
  EXPECT_GT(farm.members[3].frames.size(), 500U);
  EXPECT_GE(farm.members[3].frames.front(), 1100U - 24U);
  EXPECT_EQ(farm.dealer.status().members[3].name, "late");
}

TEST(Dealer, what_all_others_had_is_dealt_to_one_that_joins) {
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
}

}  // namespace
}  // namespace rashpa::transfer
