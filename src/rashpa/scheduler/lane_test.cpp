// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

using testing::Bench;
using testing::EchoUnit;
using testing::kDeadline;
using testing::RecordingLink;

/// Drives a lane whose sources wait for slots.
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

TEST(Lane, the_time_of_the_first_packet_is_that_of_the_first_image_of_which_something_came) {
  Bench b;
  link::Arrival lost = Bench::lost(0, 0, link::Loss::event);
  lost.last_packet_ns = 30;
  b.give(lost);
  EXPECT_EQ(b.lane.first_packet_ns(), 0);
  for (const std::uint64_t index : {1U, 2U}) {
    link::Arrival come = Bench::good(0, index);
    come.last_packet_ns = static_cast<std::int64_t>(40 * index);
    b.give(come);
    EXPECT_EQ(b.lane.first_packet_ns(), 40);
  }
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

}  // namespace
}  // namespace rashpa::scheduler
