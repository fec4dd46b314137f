// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/fpga/count_decision.hpp"

#include <gtest/gtest.h>

#include "rashpa/kernel/total_counts/total_counts.hpp"

namespace rashpa::unit::fpga {
namespace {

/// A conversion, a count of 10 … 100 bright pixels, a list of at most 50. Their kernels never run.
Steps counting_and_listing() {
  const PlannedStep step{.step = kernel::total_counts::step_of({})};
  Steps steps;
  steps.steps = {step, step, step};
  steps.steps[1].rides = kernel::CountTap{.threshold = 1, .least = 10, .most = 100};
  steps.steps[1].first_column = 2;
  steps.steps[1].reasons = {VetoReason::too_few, VetoReason::dark};
  steps.steps[2].makes_list = true;
  steps.output.list_capacity = 50;
  return steps;
}

TEST(CountDecision, an_image_within_all_bounds_is_accepted_with_its_counts) {
  const Steps steps = counting_and_listing();
  const CountDecision decision(steps);
  EXPECT_TRUE(decision.lists());
  StackImage image;
  decision.settle(image, {.masked = 3, .saturated = 4, .bright = 10, .listed = 50});
  EXPECT_EQ(image.decision, Decision::accepted);
  EXPECT_TRUE(image.measured);
  EXPECT_EQ(image.scalars[0].count(), 3U);
  EXPECT_EQ(image.scalars[1].count(), 4U);
  EXPECT_EQ(image.scalars[2].count(), 10U);
}

TEST(CountDecision, a_count_vetoes_by_its_own_reasons_before_lists_matter) {
  const Steps steps = counting_and_listing();
  const CountDecision decision(steps);
  StackImage few;
  decision.settle(few, {.bright = 9, .listed = 51});
  EXPECT_EQ(few.decision, Decision::vetoed);
  EXPECT_EQ(few.reason, VetoReason::too_few);
  StackImage many;
  decision.settle(many, {.bright = 101});
  EXPECT_EQ(many.reason, VetoReason::dark) << "the second of its reasons";
}

TEST(CountDecision, other_limits_of_the_count_hold_from_then_on) {
  const Steps steps = counting_and_listing();
  CountDecision decision(steps);
  EXPECT_TRUE(decision.counts(1));
  EXPECT_FALSE(decision.counts(2)) << "it lists";
  StackImage before, then;
  decision.settle(before, {.bright = 10});
  decision.adopt({.threshold = 1, .least = 11, .most = 100});
  decision.settle(then, {.bright = 10});
  EXPECT_EQ(before.decision, Decision::accepted);
  EXPECT_EQ(then.decision, Decision::vetoed);
  EXPECT_EQ(then.reason, VetoReason::too_few);
}

TEST(CountDecision, a_list_that_is_longer_than_its_room_is_an_error_of_its_step) {
  const Steps steps = counting_and_listing();
  StackImage image;
  CountDecision(steps).settle(image, {.bright = 20, .listed = 51});
  EXPECT_EQ(image.decision, Decision::errored);
  EXPECT_EQ(image.failed_in, 3);
}

TEST(CountDecision, a_conversion_alone_accepts_everything) {
  Steps steps = counting_and_listing();
  steps.steps.erase(steps.steps.begin() + 1, steps.steps.end());
  const CountDecision decision(steps);
  EXPECT_FALSE(decision.lists());
  StackImage image;
  decision.settle(image, {.bright = 0, .listed = 1000});
  EXPECT_EQ(image.decision, Decision::accepted);
}

}  // namespace
}  // namespace rashpa::unit::fpga
