// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/stack_flow.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

/// Four stacks of three images on their way through a unit that does not exist.
struct Flowing {
  Flowing() {
    for (std::uint64_t number = 0; number < ring.all.size(); ++number) ring.all[number].number = number;
  }
  Stack& at(std::size_t slot) { return ring.all[slot]; }

  StackRing ring{64, 16, 3, 4, memory::MemoryKind::pageable};
  Steps steps = steps_of({{kernel::total_counts::step_of({})}}, ring.layout);
  Doorbell bell;
  StackFlow flow{steps, 3, 4, "unit test: ", bell};
};

TEST(StackFlow, stacks_come_back_in_order_and_the_bell_rings_once_for_each) {
  Flowing f;
  for (std::size_t slot = 0; slot < 4; ++slot) f.flow.submit(&f.at(slot));
  EXPECT_EQ(f.flow.take(), nullptr);
  for (std::size_t slot = 0; slot < 4; ++slot) {
    Stack* const begun = f.flow.begin();
    ASSERT_EQ(begun, &f.at(slot));
    f.flow.hand_back(*begun, false);
  }
  EXPECT_EQ(f.flow.begin(), nullptr);
  EXPECT_EQ(f.bell.count(), 4U);
  for (std::size_t slot = 0; slot < 4; ++slot) EXPECT_EQ(f.flow.take(), &f.at(slot));
  EXPECT_EQ(f.flow.take(), nullptr);
}

TEST(StackFlow, asks_for_what_needs_work_and_settles_the_rest) {
  Flowing f;
  Stack& stack = f.at(2);
  stack.count = 2;
  stack.images[0].completeness = Completeness::missing;
  f.flow.submit(&stack);
  const std::span<const std::uint8_t> asked = f.flow.asked(stack);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0], 0);
  EXPECT_EQ(asked[1], 1);
  EXPECT_EQ(stack.images[0].decision, Decision::none) << "missing stays missing";
}

TEST(StackFlow, of_a_lost_stack_what_was_asked_for_is_errored_with_nothing_left_of_it) {
  Flowing f;
  Stack& stack = f.at(0);
  stack.images[0].flags = FrameRecord::dark;  // settled without work
  f.flow.submit(&stack);
  ASSERT_EQ(f.flow.begin(), &stack);
  const std::byte pixel{};
  stack.images[1].pixels = &pixel;
  stack.images[1].sparse.count = 3;
  stack.images[1].decision = Decision::vetoed;
  stack.images[1].reason = VetoReason::too_few;
  stack.decided_ns = 0;
  f.flow.hand_back(stack, true);
  EXPECT_EQ(stack.images[0].decision, Decision::vetoed);
  EXPECT_EQ(stack.images[0].reason, VetoReason::dark);
  EXPECT_EQ(stack.images[1].decision, Decision::errored);
  EXPECT_EQ(stack.images[1].reason, VetoReason::none);
  EXPECT_EQ(stack.images[1].pixels, nullptr);
  EXPECT_EQ(stack.images[1].sparse.count, 0U);
  EXPECT_EQ(stack.images[2].decision, Decision::errored);
  EXPECT_GT(stack.decided_ns, 0);
}

TEST(StackFlow, behind_a_failure_or_a_stop_everything_comes_back_errored) {
  for (const bool failure : {true, false}) {
    Flowing f;
    if (failure) {
      f.flow.fail("the first");
      f.flow.fail("the second");
    } else {
      f.flow.stop();
    }
    EXPECT_EQ(f.flow.error(), failure ? "unit test: the first" : "");
    EXPECT_EQ(f.flow.failed(), failure);
    EXPECT_TRUE(f.flow.ended());
    f.flow.submit(&f.at(1));
    for (const std::uint8_t one : f.flow.asked(f.at(1))) EXPECT_EQ(one, 0);
    ASSERT_EQ(f.flow.begin(), &f.at(1)) << "it goes its way nevertheless";
    for (const StackImage& image : f.at(1).images) EXPECT_EQ(image.decision, Decision::errored);
  }
}

TEST(StackFlow, a_stack_and_a_stop_wake_the_thread_that_rests) {
  Flowing f;
  std::atomic<int> woken{0};
  std::jthread thread([&] {
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t before = f.flow.woken();
      woken = i * 2 + 1;
      f.flow.rest(before, std::chrono::minutes(1));
      woken = i * 2 + 2;
    }
  });
  ASSERT_EVENTUALLY(woken >= 1);
  f.flow.submit(&f.at(0));
  ASSERT_EVENTUALLY(woken >= 3);
  f.flow.stop();
  EXPECT_EVENTUALLY(woken == 4);
}

}  // namespace
}  // namespace rashpa::unit
