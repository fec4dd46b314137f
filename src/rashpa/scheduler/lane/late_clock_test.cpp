// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/late_clock.hpp"

#include <gtest/gtest.h>

namespace rashpa::scheduler {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kDeadline = 500 * kMs;
constexpr std::int64_t kPatience = 7000 * kMs;

/// Looks each millisecond, as the scheduler does.
struct Course {
  std::int64_t live(std::int64_t ms, bool explained = false) {
    std::int64_t time = 0;
    for (std::int64_t i = 0; i < ms; ++i) time = clock.look(now += kMs, explained);
    return time;
  }
  void images(int count, std::int64_t period_ms) {
    for (int i = 0; i < count; ++i) {
      live(period_ms);
      clock.heard();
    }
  }
  LateClock clock{kDeadline, kPatience};
  std::int64_t now = 1'000'000 * kMs;
};

TEST(LateClock, it_waits_for_sources_that_all_fall_silent_much_longer_than_usual) {
  Course run;
  run.images(100, 10);
  const std::int64_t before = run.live(1);
  EXPECT_NEAR(static_cast<double>(run.live(5000) - before), static_cast<double>(kDeadline / 4), 2e6);
  run.clock.heard();
  const std::int64_t again = run.live(1);
  EXPECT_EQ(run.live(100) - again, 100 * kMs) << "they are heard, and it counts";
}

TEST(LateClock, it_counts_where_there_is_a_reason_why_nobody_sends) {
  Course run;
  run.images(100, 10);
  const std::int64_t before = run.live(1);
  EXPECT_EQ(run.live(2000, true) - before, 2000 * kMs);
}

TEST(LateClock, it_counts_the_silences_that_are_usual_for_a_slow_detector) {
  Course run;
  run.images(40, 1000);
  const std::int64_t before = run.live(1);
  EXPECT_EQ(run.live(3000) - before, 3000 * kMs);
}

TEST(LateClock, it_counts_before_anything_is_usual) {
  Course run;
  run.images(3, 10);
  const std::int64_t before = run.live(1);
  EXPECT_EQ(run.live(2000) - before, 2000 * kMs);
}

TEST(LateClock, it_does_not_wait_for_ever) {
  Course run;
  run.images(100, 10);
  const std::int64_t before = run.live(1);
  EXPECT_NEAR(static_cast<double>(run.live(9000) - before), static_cast<double>(9000 * kMs - kPatience), 3e6);
  EXPECT_NEAR(static_cast<double>(run.clock.silence()), 9001.0 * kMs, 2e6) << "of the silence all counts";
}

TEST(LateClock, no_time_passes_while_it_is_held_whatever_explains_the_silence) {
  for (const bool explained : {false, true}) {
    Course run;
    run.images(100, 10);
    const std::int64_t before = run.live(1);
    run.clock.hold(true);
    EXPECT_EQ(run.live(20000, explained), before);
    EXPECT_LE(run.clock.silence(), 2 * kMs) << "nobody is silent who may not send";
    run.clock.hold(false);
    EXPECT_EQ(run.live(100, explained) - before, 100 * kMs);
  }
}

TEST(LateClock, one_long_silence_is_forgotten) {
  Course run;
  run.images(100, 10);
  run.live(5000);
  run.images(40, 10);
  const std::int64_t before = run.live(1);
  EXPECT_LT(run.live(3000) - before, kDeadline / 2);
}

}  // namespace
}  // namespace rashpa::scheduler
