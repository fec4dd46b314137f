// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/step_watch.hpp"

#include <gtest/gtest.h>

namespace rashpa::unit {
namespace {

TEST(StepWatch, says_what_has_begun_first_and_goes_on) {
  StepWatch watch(3);
  EXPECT_FALSE(watch.longest());
  {
    const StepWatch::Turn first(watch, 2, 1, 7, 70);
    const std::int64_t began = now_ns();
    {
      const StepWatch::Turn second(watch, 0, 4, 8, 80);
      const auto doing = watch.longest();
      ASSERT_TRUE(doing);
      EXPECT_EQ(doing->step, 1U);
      EXPECT_EQ(doing->image, 7U);
      EXPECT_EQ(doing->frame, 70U);
      EXPECT_LE(doing->since_ns, began);
    }
    ASSERT_TRUE(watch.longest());
    EXPECT_EQ(watch.longest()->image, 7U);
  }
  EXPECT_FALSE(watch.longest());
}

}  // namespace
}  // namespace rashpa::unit
