// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/steady_utc.hpp"

#include <gtest/gtest.h>

namespace rashpa {
namespace {

TEST(SteadyUtc, goes_on_by_the_monotonic_clock_whatever_the_system_says_later) {
  constexpr std::uint64_t kNewYear = 1'767'225'600'000'000'000;
  const SteadyUtc utc(kNewYear, 5'000);
  EXPECT_EQ(utc.at(5'000), kNewYear);
  EXPECT_EQ(utc.at(3'600'000'005'000), kNewYear + 3'600'000'000'000);
  EXPECT_EQ(utc.at(4'000), kNewYear - 1'000);
}

TEST(SteadyUtc, begins_with_the_time_of_the_system) {
  const std::uint64_t before = now_utc_ns();
  const std::uint64_t then = SteadyUtc().now();
  constexpr std::uint64_t kMinute = 60'000'000'000;
  EXPECT_GE(then + kMinute, before);
  EXPECT_LE(then, now_utc_ns() + kMinute);
}

}  // namespace
}  // namespace rashpa
