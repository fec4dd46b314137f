// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/sink_line.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/receiver/sinks/testing.hpp"

namespace rashpa::receiver {
namespace {

using namespace testing;

TEST(SinkLine, a_sink_that_waits_gets_every_stack_and_says_when_it_is_through) {
  Bench b;
  b.make();
  for (const Stack& stack : b.stacks.stacks) EXPECT_TRUE(b.line->offer(stack));
  b.finish();
  EXPECT_EQ(b.owner.back, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(b.log->kept.size(), kAccepted);
  EXPECT_TRUE(b.log->skipped.empty());
  EXPECT_TRUE(b.log->books.balanced());
  EXPECT_FALSE(b.line->status().first.has_value());
  b.expect_balanced();
}

TEST(SinkLine, a_stopped_sink_that_waits_holds_its_stacks) {
  Bench b;
  b.log->open = false;
  b.make();
  for (const Stack& stack : b.stacks.stacks) EXPECT_TRUE(b.line->offer(stack));
  ASSERT_EVENTUALLY(b.log->entered > 0);
  EXPECT_EQ(b.line->status().waiting, kAccepted);
  {
    const std::lock_guard lock(b.owner.mutex);
    EXPECT_TRUE(b.owner.back.empty());
  }
  b.log->open = true;
  b.log->open.notify_all();
  b.finish();
  b.expect_balanced();
}

TEST(SinkLine, a_stopped_sink_that_may_drop_holds_nothing_and_loses_only_its_own) {
  Bench b(OnFull::drop);
  b.log->open = false;
  b.make();
  EXPECT_TRUE(b.line->offer(b.stacks.stacks[0]));
  ASSERT_EVENTUALLY(b.log->entered > 0);
  EXPECT_TRUE(b.line->offer(b.stacks.stacks[1]));  // the second of two places
  for (std::size_t n = 2; n < 8; ++n) EXPECT_FALSE(b.line->offer(b.stacks.stacks[n])) << n;
  // The stacks are as good as written over: the sink has copies.
  std::fill(b.stacks.pixels.begin(), b.stacks.pixels.begin() + std::ptrdiff_t{8} * kStack * kPixels,
            std::uint16_t{0xDEAD});
  b.log->open = true;
  b.log->open.notify_all();
  EXPECT_EVENTUALLY(b.line->offer(b.stacks.stacks[8]));
  // Attempts in vain were counted each time, as the distributor never does.
  b.finish();
  EXPECT_TRUE(b.owner.back.empty()) << "a line that may drop holds no slots";
  ASSERT_GE(b.log->first_pixels.size(), 3U);
  for (std::size_t i = 0; i < b.log->kept.size(); ++i) EXPECT_EQ(b.log->first_pixels[i], b.log->kept[i]);
  EXPECT_EQ(b.log->skipped.front(), 4U);
  EXPECT_EQ(b.log->skipped.back(), 19U) << "the last stack was never offered";
  EXPECT_EQ(b.log->skipped.size(), 14U);
  const SinkStatus status = b.line->status();
  EXPECT_GT(status.dropped, 0U);
  EXPECT_EQ(status.written + status.dropped, status.accepted);
  ASSERT_TRUE(status.first.has_value());
  EXPECT_EQ(status.first->index, 4U);
  EXPECT_EQ(status.first->reason, ErrorReason::dropped);
}

TEST(SinkLine, an_image_that_the_sink_cannot_store_is_lost_with_the_reason) {
  Bench b;
  b.log->fails_at = 6;
  b.make();
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  ASSERT_EQ(b.owner.losses.size(), 1U);
  EXPECT_EQ(b.owner.losses[0].index, 6U);
  EXPECT_EQ(b.owner.losses[0].reason, ErrorReason::storage);
  EXPECT_EQ(b.owner.losses[0].text, "test: no room");
  EXPECT_EQ(b.line->status().errored, 1U);
  EXPECT_EQ(b.log->books.errored, 1U);
  EXPECT_TRUE(b.log->books.balanced());
  EXPECT_EQ(b.owner.back.size(), b.stacks.stacks.size());
  b.expect_balanced();
}

TEST(SinkLine, an_image_that_the_sink_had_nobody_for_is_dropped_and_not_errored) {
  Bench b;
  b.log->nobody_at = 6;
  b.make();
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  EXPECT_TRUE(b.owner.losses.empty());
  EXPECT_EQ(b.owner.passed, std::vector<std::uint64_t>{6});
  const SinkStatus status = b.line->status();
  EXPECT_EQ(status.dropped, 1U);
  EXPECT_EQ(status.errored, 0U);
  ASSERT_TRUE(status.first.has_value());
  EXPECT_EQ(status.first->index, 6U);
  b.expect_balanced();
}

TEST(SinkLine, an_exception_loses_one_stack) {
  Bench b;
  b.log->throws_at = 4;
  b.make();
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  EXPECT_EQ(b.line->status().errored, 2U);
  EXPECT_EQ(b.line->error(), "a fault of the sink");
  b.expect_balanced();
}

TEST(SinkLine, stacks_come_back_later_and_in_any_order) {
  for (const OnFull on_full : {OnFull::wait, OnFull::drop}) {
    Bench b(on_full);
    b.config.queue = static_cast<std::uint32_t>(b.stacks.stacks.size());
    b.log->later = true;
    b.make();
    for (const Stack& stack : b.stacks.stacks) EXPECT_TRUE(b.line->offer(stack));
    b.finish();
    if (on_full == OnFull::wait) {
      EXPECT_EQ(b.owner.back, (std::vector<std::uint64_t>{1, 0, 3, 2, 5, 4, 7, 6, 9, 8}));
    }
    EXPECT_EQ(b.line->status().written, kAccepted);
    b.expect_balanced();
  }
}

TEST(SinkLine, a_sink_that_does_not_come_back_is_left_behind) {
  Bench b(OnFull::drop);
  b.config.patience_ns = 100'000'000;
  b.log->open = false;
  b.make();
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  const SinkStatus status = b.line->status();
  EXPECT_TRUE(status.left_behind);
  EXPECT_EQ(status.written, 0U);
  EXPECT_EQ(status.errored, 3U) << "two stacks, one image vetoed";
  EXPECT_EQ(status.dropped, kAccepted - 3);
  EXPECT_NE(status.error.find("left behind"), std::string::npos) << status.error;
  EXPECT_EQ(b.owner.losses.size(), 3U);
  b.expect_balanced();
  // When it comes back after all, it finds nobody, and goes.
  b.line.reset();
  EXPECT_FALSE(b.log->gone);
  b.log->open = true;
  b.log->open.notify_all();
  EXPECT_EVENTUALLY(b.log->gone);
  EXPECT_EQ(b.owner.losses.size(), 3U);
}

}  // namespace
}  // namespace rashpa::receiver
