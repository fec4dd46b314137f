// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/scheduler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

using testing::Bench;
using testing::EchoUnit;
using testing::kDeadline;
using testing::RecordingLink;

/// Of a lane that does not know how many images come.
struct OpenBench : Bench {
  explicit OpenBench(std::uint32_t dtps = 2) : Bench(kMostImages, dtps, End::told) {}
};

/// Of a lane whose sources wait for slots.
struct QuietBench : Bench {
  static constexpr std::int64_t kQuiet = 3 * kDeadline;
  QuietBench() : Bench(std::chrono::nanoseconds(kQuiet)) {}
};

TEST(Lane, what_was_overwritten_while_it_was_processed_is_errored_and_counted) {
  Bench b;
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (std::uint32_t dtp = 0; dtp < 2; ++dtp) {
      b.give(i == 3 ? Bench::lost(dtp, i, link::Loss::event) : Bench::good(dtp, i));
    }
  }
  ASSERT_TRUE(b.lane.advance(100));
  Stack& stack = *b.unit.stacks[0];
  for (StackImage& image : stack.view()) {
    image.decision = image.completeness == Completeness::missing ? Decision::none : Decision::accepted;
    image.pixels = image.raw;
  }
  stack.images[1].decision = Decision::vetoed;
  stack.images[1].reason = VetoReason::too_few;
  b.link.spoilt = {1, 2, 3};
  b.lane.refuse_overwritten(stack);
  EXPECT_EQ(stack.images[0].decision, Decision::accepted);
  EXPECT_EQ(stack.images[1].decision, Decision::errored);
  EXPECT_EQ(stack.images[1].reason, VetoReason::none);
  EXPECT_EQ(stack.images[2].decision, Decision::errored);
  EXPECT_EQ(stack.images[3].decision, Decision::none) << "missing stays missing";
  EXPECT_EQ(stack.images[1].error, ErrorReason::overwritten);
  EXPECT_TRUE(stack.intact(stack.images[0]));
  b.link.spoilt = {0};
  EXPECT_FALSE(stack.intact(stack.images[0])) << "a sink that reads it from its slot now has read something else";
  const std::byte other{};
  stack.images[0].pixels = &other;
  EXPECT_TRUE(stack.intact(stack.images[0])) << "the unit had made a copy";
  b.lane.count_overwritten(2);
  EXPECT_EQ(b.lane.overwritten(), 2U) << "those that were refused";
}

// Somebody writes pixels into slots behind the back of a link that has compared their CRC32C.
TEST(Lane, pixels_that_change_after_they_were_compared_are_errored) {
  for (const bool direct : {true, false}) {
    SCOPED_TRACE(direct ? "sources write" : "the link places the bytes itself");
    Bench b(12, 2, direct);
    for (std::uint64_t i = 0; i < 4; ++i) {
      for (std::uint32_t dtp = 0; dtp < 2; ++dtp) {
        link::Arrival arrival = Bench::good(dtp, i);
        if (dtp == 1 && i == 2) arrival.proof = link::Proof::none;  // verify = "sampled" has left it out
        b.give(b.with_checksum(arrival));
      }
    }
    ASSERT_TRUE(b.lane.advance(100));
    Stack& stack = *b.unit.stacks[0];
    for (StackImage& image : stack.view()) {
      image.decision = Decision::accepted;
      image.measured = true;
      EXPECT_EQ(image.may_change(), direct);
    }
    std::vector<std::byte> copy(stack.images[3].raw, stack.images[3].raw + 1024);
    stack.images[2].raw[1023] = std::byte{7};
    EXPECT_TRUE(stack.intact(stack.images[2])) << "nobody has compared that part";
    EXPECT_TRUE(stack.intact(stack.images[3]));
    stack.images[3].raw[0] = std::byte{7};
    EXPECT_EQ(stack.intact(stack.images[3]), !direct) << "a sink has read that from its slot";
    EXPECT_TRUE(stack.intact(stack.images[3], copy.data())) << "a sink had a copy";
    copy[0] = std::byte{7};
    stack.images[3].raw[0] = std::byte{0};
    EXPECT_EQ(stack.intact(stack.images[3], copy.data()), !direct) << "the pixels were changed back meanwhile";
  }
}

TEST(Lane, what_was_found_to_have_changed_is_errored) {
  Bench b;
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (std::uint32_t dtp = 0; dtp < 2; ++dtp) b.give(Bench::good(dtp, i));
  }
  ASSERT_TRUE(b.lane.advance(100));
  Stack& stack = *b.unit.stacks[0];
  for (StackImage& image : stack.view()) image.decision = Decision::accepted;
  stack.images[1].decision = Decision::vetoed;
  stack.images[2].decision = Decision::none;
  b.lane.refuse_overwritten(stack, std::array<std::uint8_t, 4>{0, 1, 1, 1});
  EXPECT_EQ(stack.images[0].decision, Decision::accepted);
  EXPECT_EQ(stack.images[1].error, ErrorReason::overwritten);
  EXPECT_EQ(stack.images[2].decision, Decision::none);
  EXPECT_EQ(stack.images[3].error, ErrorReason::overwritten);
}

// The source of DTP 1 still has the credits of images that were given up, and writes into their slots.
TEST(Lane, lines_that_come_after_they_were_given_up_are_never_taken_for_lost_ones) {
  Bench b;
  for (std::uint64_t i = 0; i < 4; ++i) {
    b.give(Bench::good(0, i));
    b.give(i == 0 ? Bench::good(1, i) : Bench::lost(1, i, link::Loss::deadline));
  }
  ASSERT_TRUE(b.lane.advance(100));
  Stack& stack = *b.unit.stacks[0];
  for (StackImage& image : stack.view()) image.decision = Decision::accepted;
  const auto lower_half = [&](std::size_t image) { return stack.images[image].raw + 512; };
  lower_half(0)[3] = std::byte{7};  // its own
  lower_half(2)[7 * 64 + 63] = std::byte{7};
  b.lane.refuse_overwritten(stack);
  EXPECT_EQ(stack.images[0].decision, Decision::accepted);
  EXPECT_EQ(stack.images[1].decision, Decision::accepted);
  EXPECT_EQ(stack.images[2].error, ErrorReason::overwritten);
  EXPECT_EQ(stack.images[3].decision, Decision::accepted);
  EXPECT_TRUE(stack.intact(stack.images[1]));
  lower_half(1)[0] = std::byte{0};
  EXPECT_FALSE(stack.intact(stack.images[1])) << "a sink that reads it from its slot now has perhaps read that";
  lower_half(3)[-1] = std::byte{7};
  EXPECT_TRUE(stack.intact(stack.images[3])) << "what has arrived is not looked at";
}

TEST(Lane, a_stack_is_submitted_when_every_dtp_of_every_image_is_there) {
  Bench b;
  for (std::uint64_t i = 0; i < 4; ++i) {
    b.give(Bench::good(1, i));
    EXPECT_FALSE(b.lane.advance(100));
  }
  for (std::uint64_t i = 0; i < 3; ++i) b.give(Bench::good(0, i));
  EXPECT_FALSE(b.lane.advance(100));
  b.give(Bench::good(0, 3));
  EXPECT_TRUE(b.lane.advance(100));
  ASSERT_EQ(b.unit.stacks.size(), 1U);
  const Stack& stack = *b.unit.stacks[0];
  ASSERT_EQ(stack.count, 4U);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(stack.images[i].completeness, Completeness::complete);
    EXPECT_EQ(stack.images[i].frame_number, 3 * i + 1);
    EXPECT_EQ(stack.images[i].flags, 3U);
    EXPECT_EQ(stack.images[i].raw, b.memory.data() + i * 1024);
  }
  EXPECT_FALSE(b.lane.first_incomplete().known);
}

TEST(Lane, an_image_is_partial_when_one_dtp_lost_it_and_missing_when_all_did) {
  Bench b;
  for (std::uint64_t i = 0; i < 4; ++i) {
    b.give(i == 2 ? Bench::lost(0, i, link::Loss::event) : Bench::good(0, i));
    b.give(i >= 2 ? Bench::lost(1, i, link::Loss::event) : Bench::good(1, i));
  }
  ASSERT_TRUE(b.lane.advance(100));
  const Stack& stack = *b.unit.stacks[0];
  EXPECT_EQ(stack.images[1].completeness, Completeness::complete);
  EXPECT_EQ(stack.images[2].completeness, Completeness::missing);
  EXPECT_EQ(stack.images[3].completeness, Completeness::partial);
  ASSERT_EQ(stack.images[3].lost_count, 1U);
  EXPECT_EQ(stack.images[3].lost[0], (LostRun{11, 0, 8}));
  EXPECT_EQ(b.memory[3 * 1024 + 512], std::byte{0xFF}) << "a lost pixel is never silently 0";
  EXPECT_EQ(b.memory[3 * 1024 + 511], std::byte{0}) << "the other DTP's lines are untouched";
  EXPECT_EQ(b.lane.completeness().get(2), Completeness::missing);
  EXPECT_EQ(b.lane.dtp_stats(1).missing, 2U);
  ASSERT_TRUE(b.lane.first_incomplete().known);
  EXPECT_EQ(b.lane.first_incomplete().index, 2U);
  EXPECT_EQ(b.lane.first_incomplete().frame, 7U);
  EXPECT_FALSE(b.lane.first_incomplete().ended);
}

TEST(Lane, the_deadline_closes_a_stack_of_which_something_has_come_and_not_before) {
  Bench b;
  EXPECT_FALSE(b.lane.advance(100 * kDeadline));
  EXPECT_EQ(b.link.closed[0], 0U) << "nothing has come yet, the source may not have started";
  for (std::uint64_t i = 0; i < 4; ++i) b.give(Bench::good(0, i), 1000);
  b.lane.advance(1000 + kDeadline);
  EXPECT_EQ(b.link.closed[1], 0U);
  b.lane.advance(1001 + kDeadline);
  EXPECT_EQ(b.link.closed[1], 4U);
  EXPECT_EQ(b.link.closed[0], 0U) << "this DTP is not behind";
  for (std::uint64_t i = 0; i < 4; ++i) b.give(Bench::lost(1, i, link::Loss::deadline));
  EXPECT_TRUE(b.lane.advance(1002 + kDeadline));
}

TEST(Lane, time_in_which_the_process_stood_still_makes_nothing_late) {
  constexpr std::int64_t kStood = 3'000'000'000;
  std::vector<std::byte> memory(8UL * 1024);
  LaneConfig config = Bench::config(12, 2, memory);
  config.deadline_ns = 500'000'000;
  EchoUnit unit;
  RecordingLink link;
  Lane lane(std::move(config), unit, link);
  std::int64_t now = 1'000'000'000;
  for (std::uint64_t i = 0; i < 4; ++i) lane.take(0, Bench::good(0, i), now);
  now += kStood;
  EXPECT_FALSE(lane.advance(now));
  EXPECT_EQ(link.closed[1], 0U) << "nobody could have looked";
  const std::int64_t again = now;
  while (link.closed[1] == 0 && now - again < kStood) lane.advance(now += 2'000'000);
  EXPECT_EQ(link.closed[1], 4U) << "but while it runs it counts";
  EXPECT_NEAR(static_cast<double>(now - again), 480e6, 5e6);
}

TEST(Lane, a_process_that_stands_still_again_and_again_gives_up_all_the_same) {
  Bench b;
  for (std::uint64_t i = 0; i < 4; ++i) b.give(Bench::good(0, i));
  for (std::int64_t now = 1'000'000'000; now < 10'000'000'000; now += 1'000'000'000) b.lane.advance(now);
  EXPECT_EQ(b.link.closed[1], 4U);
}

TEST(Lane, a_stack_waits_for_a_slow_detector_however_long_it_takes) {
  Bench b(12);
  for (std::uint64_t i = 0; i < 4; ++i) {
    b.lane.advance(static_cast<std::int64_t>(3 * i) * kDeadline);
    b.give(Bench::good(0, i), static_cast<std::int64_t>(3 * i) * kDeadline);
    b.give(Bench::good(1, i), static_cast<std::int64_t>(3 * i) * kDeadline);
  }
  EXPECT_EQ(b.link.closed[0], 0U);
  EXPECT_EQ(b.link.closed[1], 0U);
  EXPECT_TRUE(b.lane.advance(9 * kDeadline));
}

TEST(Lane, each_image_that_a_dtp_lacks_has_the_deadline_from_when_another_had_it) {
  Bench b;
  b.give(Bench::good(0, 0), 1000);
  b.give(Bench::good(0, 1), 1000 + kDeadline / 2);
  b.lane.advance(1001 + kDeadline);
  EXPECT_EQ(b.link.closed[1], 1U);
  EXPECT_EQ(b.link.closed[0], 0U);
}

TEST(Lane, no_deadline_passes_while_its_sources_are_told_to_pause) {
  Bench bench(16);
  for (std::uint64_t index = 0; index < 8; ++index) bench.give(Bench::good(0, index));  // it has filled all slots
  for (std::uint64_t index = 0; index < 2; ++index) bench.give(Bench::good(1, index));  // it is paused behind
  std::int64_t now = 100;
  const auto live = [&](std::int64_t ns) {
    for (const std::int64_t end = now + ns; now < end; now += kDeadline / 4) bench.lane.advance(now);
  };
  bench.lane.hold_deadlines(true, now);
  live(20 * kDeadline);
  EXPECT_EQ(bench.link.closed[1], 0U) << "given up although nobody may send";
  bench.lane.hold_deadlines(false, now);
  live(kDeadline / 2);
  EXPECT_EQ(bench.link.closed[1], 0U) << "what is due has what was left of its deadline";
  for (std::uint64_t index = 2; index < 4; ++index) bench.give(Bench::good(1, index), now);
  EXPECT_TRUE(bench.lane.advance(now));
  EXPECT_EQ(bench.unit.stacks.back()->images[3].completeness, Completeness::complete);
  live(2 * kDeadline);
  EXPECT_GT(bench.link.closed[1], 0U) << "deadlines count again";
}

TEST(Lane, a_hold_ends_when_nothing_more_is_sent) {
  Bench bench;
  bench.give(Bench::good(0, 0));
  bench.lane.hold_deadlines(true, 100);
  bench.lane.finish(100);
  bench.lane.hold_deadlines(true, 100);
  for (std::int64_t now = 100; now < 4 * kDeadline; now += kDeadline / 4) bench.lane.advance(now);
  EXPECT_EQ(bench.link.closed[0], 12U);
}

TEST(Lane, a_stack_whose_sources_may_wait_for_slots_is_given_up_when_nothing_has_come_for_long) {
  QuietBench b;
  EXPECT_FALSE(b.lane.advance(100 * kDeadline));
  EXPECT_EQ(b.link.closed[0], 0U) << "nothing has come yet, the source may not have started";
  for (std::uint64_t i = 0; i < 5; ++i) {
    b.give(Bench::good(0, i), 1000 * static_cast<std::int64_t>(i));
    b.give(Bench::good(1, i), 1000 * static_cast<std::int64_t>(i));
  }
  ASSERT_TRUE(b.lane.advance(4000));
  b.lane.advance(4000 + QuietBench::kQuiet);
  EXPECT_EQ(b.link.closed[0], 0U);
  b.lane.advance(4001 + QuietBench::kQuiet);
  EXPECT_EQ(b.link.closed[0], 8U);
  EXPECT_EQ(b.link.closed[1], 8U);
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

TEST(Lane, a_silent_dtp_costs_one_deadline_until_it_is_heard_again) {
  Bench b(16);
  for (std::uint64_t i = 0; i < 4; ++i) b.give(Bench::good(0, i), 1000);
  b.lane.advance(1001 + kDeadline);
  for (std::uint64_t i = 0; i < 4; ++i) b.give(Bench::lost(1, i, link::Loss::deadline));
  ASSERT_TRUE(b.lane.advance(2 * kDeadline));
  b.finish_stack();
  for (std::uint64_t i = 4; i < 8; ++i) b.give(Bench::good(0, i), 3 * kDeadline);
  b.lane.advance(3 * kDeadline);
  EXPECT_EQ(b.link.closed[1], 8U) << "no second wait";
  for (std::uint64_t i = 4; i < 8; ++i) b.give(Bench::lost(1, i, link::Loss::deadline));
  ASSERT_TRUE(b.lane.advance(3 * kDeadline));
  b.finish_stack();
  b.give(Bench::good(1, 8), 4 * kDeadline);  // it speaks again
  for (std::uint64_t i = 8; i < 12; ++i) b.give(Bench::good(0, i), 4 * kDeadline);
  b.lane.advance(4 * kDeadline);
  EXPECT_EQ(b.link.closed[1], 8U) << "waited for again";
}

TEST(Lane, arrivals_wait_while_unit_or_sink_still_own_their_stack) {
  Bench b(16, 1);
  for (std::uint64_t i = 0; i < 8; ++i) b.give(Bench::good(0, i));
  ASSERT_TRUE(b.lane.advance(100));
  ASSERT_TRUE(b.lane.advance(100));
  EXPECT_FALSE(b.lane.can_take(Bench::good(0, 8)));
  b.lane.release(*b.unit.stacks[0]);
  EXPECT_TRUE(b.lane.can_take(Bench::good(0, 8)));
  EXPECT_FALSE(b.lane.can_take(Bench::good(0, 12)));
  EXPECT_EQ(b.link.released[0], 4U);
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

TEST(Lane, a_ring_that_holds_no_two_stacks_is_refused) {
  std::vector<std::byte> memory(8192);
  EchoUnit unit;
  RecordingLink link;
  for (std::uint32_t slots : {4U, 6U, 0U}) {
    LaneConfig config = Bench::config(10, 1, memory);
    config.slots = slots;
    EXPECT_THROW(Lane(config, unit, link), ConfigError) << slots;
  }
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

TEST(Scheduler, arrivals_whose_stack_is_not_free_hold_up_no_other_dtp) {
  Bench b(16);
  link::ArrivalQueues queues(2, 16);
  Doorbell bell;
  Scheduler scheduler({&b.lane}, queues, bell, Poll::event, -1);
  for (std::uint64_t i = 0; i < 16; ++i)
    ASSERT_TRUE(queues[0].push(Bench::good(0, i)));  // both stacks, and what is behind
  scheduler.start();
  ASSERT_EVENTUALLY(queues[0].entries() <= 7);  // eight are taken, one is held
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(queues[1].push(Bench::good(1, i)));
  bell.ring();
  EXPECT_EVENTUALLY(b.lane.submitted() == 2);
  scheduler.stop();
}

TEST(Scheduler, two_queues_in_any_interleaving_give_ordered_stacks_and_the_thread_ends) {
  constexpr std::uint64_t kImages = 4000;
  Bench b(kImages);
  link::ArrivalQueues queues(2, 16);
  Doorbell bell;
  Scheduler scheduler({&b.lane}, queues, bell, Poll::event, -1);
  scheduler.start();
  const auto feed = [&](std::uint32_t dtp, unsigned seed) {
    std::mt19937 random(seed);
    link::ArrivalQueue& queue = queues[dtp];
    for (std::uint64_t i = 0; i < kImages; ++i) {
      const bool lost = random() % 50 == 0;
      ASSERT_EVENTUALLY(queue.push(lost ? Bench::lost(dtp, i, link::Loss::event) : Bench::good(dtp, i)));
      bell.ring();
    }
    ASSERT_EVENTUALLY(queue.flush());
    bell.ring();
  };
  std::jthread source0([&] { feed(0, 1); });
  std::jthread source1([&] { feed(1, 2); });
  std::uint64_t taken = 0;
  for (;;) {
    ASSERT_EVENTUALLY(taken < b.lane.submitted() || b.lane.closed());
    if (taken == b.lane.submitted()) break;
    Stack stack;
    stack.number = taken++;
    stack.count = 4;
    b.lane.release(stack);  // the "sink" gives the slots back in order
    bell.ring();
  }
  source0.join();
  source1.join();
  scheduler.stop();
  EXPECT_EQ(taken, kImages / 4);
  const LaneDtpStats stats = b.lane.dtp_stats(0);
  EXPECT_EQ(stats.complete + stats.missing, kImages);
  EXPECT_GT(stats.missing, 0U);
  EXPECT_EQ(b.link.released[1], kImages);
}

}  // namespace
}  // namespace rashpa::scheduler
