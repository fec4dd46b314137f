// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/time/leap_seconds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t k2017 = 1'483'228'800 * kSecond;  // 2017-01-01T00:00:00Z
constexpr std::uint64_t k1999 = 915'148'800 * kSecond;

TEST(LeapSeconds, are_those_of_the_bulletin) {
  EXPECT_EQ(tai_of_utc(1'769'857'201 * kSecond), (1'769'857'201 + 37) * kSecond);
  EXPECT_EQ(tai_of_utc(k2017), k2017 + 37 * kSecond);
  EXPECT_EQ(tai_of_utc(k2017 - 1), k2017 - 1 + 36 * kSecond);
  EXPECT_EQ(tai_of_utc(k1999), k1999 + 32 * kSecond);
  EXPECT_EQ(tai_of_utc(k1999 - kSecond), k1999 + 30 * kSecond);
}

TEST(LeapSeconds, come_back_as_they_were) {
  for (const LeapStep& step : leap_table().steps) {
    for (const std::uint64_t utc : {step.from_ns - kSecond, step.from_ns - 1, step.from_ns, step.from_ns + kSecond})
      EXPECT_EQ(utc_of_tai(tai_of_utc(utc)), utc);
  }
}

TEST(LeapSeconds, let_utc_stand_while_they_go_on) {
  const std::uint64_t last = tai_of_utc(k2017 - 1);  // 23:59:59.999999999
  for (const std::uint64_t after : {std::uint64_t{1}, kSecond / 2, kSecond})
    EXPECT_EQ(utc_of_tai(last + after), k2017 - 1);
  EXPECT_EQ(utc_of_tai(last + kSecond + 1), k2017);
  std::uint64_t before = 0;
  for (std::uint64_t tai = last - 2 * kSecond; tai < last + 4 * kSecond; tai += kSecond / 8) {
    EXPECT_GE(utc_of_tai(tai), before);
    before = utc_of_tai(tai);
  }
}

TEST(LeapSeconds, go_on_as_they_were_where_the_table_ends) {
  EXPECT_EQ(tai_of_utc(0), 10 * kSecond);
  EXPECT_EQ(utc_of_tai(5), 0);
  const std::uint64_t late = leap_table().valid_until_ns + std::uint64_t{365} * 86400 * kSecond;
  EXPECT_EQ(tai_of_utc(late), late + 37 * kSecond);
  EXPECT_EQ(utc_of_tai(late + 37 * kSecond), late);
}

TEST(LeapSeconds, are_in_the_clock_of_records) {
  const std::uint64_t before = now_utc_ns();
  const std::uint64_t tai = tai_ns();
  EXPECT_GE(utc_of_tai(tai), before);
  EXPECT_LE(utc_of_tai(tai), now_utc_ns());
}

TEST(LeapSeconds, of_a_damaged_table_are_refused) {
  for (const char* text : {"", "valid_until 2026-01-01\n", "1972-01-01 10\n", "valid_until 2026-01-01\n1972-13-01 10\n",
                           "valid_until 2026-01-01\n1972-01-01\n", "valid_until 2026-01-01\n1972-01-01 ten\n",
                           "valid_until 2026-01-01\n1973-01-01 12\n1972-01-01 10\n"})
    EXPECT_THROW(leap_table_of(text), ConfigError) << text;
}

}  // namespace
}  // namespace rashpa
