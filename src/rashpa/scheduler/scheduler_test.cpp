// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/scheduler.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

using testing::Bench;

TEST(Scheduler, arrivals_whose_stack_is_not_free_hold_up_no_other_dtp) {
  Bench b(16);
  link::ArrivalQueues queues(2, 16);
  Doorbell bell;
  Scheduler scheduler({&b.lane}, queues, bell, Poll::event, -1);
  for (std::uint64_t i = 0; i < 16; ++i)
    ASSERT_TRUE(queues[0].push(Bench::good(0, i)));  // both stacks, and the images behind
  scheduler.start();
  ASSERT_EVENTUALLY(queues[0].entries() <= 7);  // eight are taken, one is held
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(queues[1].push(Bench::good(1, i)));
  bell.ring();
  EXPECT_EVENTUALLY(b.lane.submitted() == 2);
  scheduler.stop();
}

TEST(Scheduler, each_lane_has_the_end_that_is_told_first) {
  Bench b(16, 1);
  std::vector<std::byte> memory(8UL * 1024);
  LaneConfig config = Bench::config(16, 1, memory);
  config.dtps[0].position = 1;
  testing::EchoUnit unit;
  testing::RecordingLink link;
  Lane other(std::move(config), unit, link);
  link::ArrivalQueues queues(2, 16);
  Doorbell bell;
  Scheduler scheduler({&b.lane, &other}, queues, bell, Poll::event, -1);
  scheduler.finish({8, 4});
  scheduler.finish({4, 8});
  for (const std::uint32_t dtp : {0U, 1U}) {
    for (std::uint64_t i = 0; i < (dtp == 0 ? 8U : 4U); ++i) ASSERT_TRUE(queues[dtp].push(Bench::good(dtp, i)));
  }
  scheduler.start();
  EXPECT_EVENTUALLY(b.lane.closed() && other.closed());
  scheduler.stop();
  EXPECT_EQ(b.lane.submitted(), 2U);
  EXPECT_EQ(other.submitted(), 1U);
  EXPECT_EQ(b.lane.dtp_stats(0).missing + other.dtp_stats(0).missing, 0U);
}

TEST(Scheduler, an_end_that_nobody_knows_is_that_of_the_run) {
  Bench b(4, 1);
  link::ArrivalQueues queues(1, 16);
  Doorbell bell;
  Scheduler scheduler({&b.lane}, queues, bell, Poll::event, -1);
  scheduler.finish({});
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(queues[0].push(Bench::good(0, i)));
  scheduler.start();
  EXPECT_EVENTUALLY(b.lane.closed());
  scheduler.stop();
  EXPECT_EQ(b.lane.dtp_stats(0).complete, 4U);
}

TEST(Scheduler, deadlines_of_all_lanes_are_held_until_they_are_let_go) {
  Bench b(16);
  std::vector<std::byte> memory(8UL * 1024);
  LaneConfig config = Bench::config(16, 2, memory);
  for (LaneDtp& dtp : config.dtps) dtp.position += 2;
  testing::EchoUnit unit;
  testing::RecordingLink link;
  Lane other(std::move(config), unit, link);
  link::ArrivalQueues queues(4, 16);
  Doorbell bell;
  Scheduler scheduler({&b.lane, &other}, queues, bell, Poll::event, -1);
  scheduler.hold_deadlines(true);
  scheduler.start();
  for (const std::uint32_t dtp : {0U, 2U}) ASSERT_TRUE(queues[dtp].push(Bench::good(dtp % 2, 0)));  // one of two
  bell.ring();
  ASSERT_EVENTUALLY(queues[0].entries() == 0 && queues[2].entries() == 0);
  const std::int64_t since = now_ns();
  ASSERT_EVENTUALLY(now_ns() > since + 50 * testing::kDeadline);
  EXPECT_EQ(b.link.closed[1].load(), 0U) << "given up although nobody may send";
  EXPECT_EQ(link.closed[3].load(), 0U);
  scheduler.hold_deadlines(false);
  EXPECT_EVENTUALLY(b.link.closed[1].load() > 0 && link.closed[3].load() > 0);
  scheduler.stop();
}

TEST(Scheduler, one_that_never_ran_closes_its_lanes) {
  Bench b(4, 1);
  link::ArrivalQueues queues(1, 16);
  Doorbell bell;
  Scheduler scheduler({&b.lane}, queues, bell, Poll::event, -1);
  EXPECT_FALSE(b.lane.closed());
  scheduler.stop();
  EXPECT_TRUE(b.lane.closed());
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
