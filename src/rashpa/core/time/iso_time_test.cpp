// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/time/iso_time.hpp"

#include <gtest/gtest.h>

namespace rashpa {
namespace {

constexpr std::uint64_t kNewYear = 1'767'225'600'000'000'000;  // 2026
constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(IsoTime, what_is_written_is_read) {
  EXPECT_EQ(iso_time(kNewYear + 1'234'567'890), "2026-01-01T00:00:01.234Z");
  for (const std::uint64_t time : {std::uint64_t{0}, kNewYear, kNewYear + 86'399 * kSecond + 7'000'000}) {
    EXPECT_EQ(utc_of_iso(iso_time(time)), time);
  }
}

TEST(IsoTime, offsets_and_parts_of_a_second_count) {
  EXPECT_EQ(utc_of_iso("2026-01-01T00:00:00Z"), kNewYear);
  EXPECT_EQ(utc_of_iso("2026-01-01T01:30:00+01:30"), kNewYear);
  EXPECT_EQ(utc_of_iso("2025-12-31T19:00:00-0500"), kNewYear);
  EXPECT_EQ(utc_of_iso("2026-01-01T00:00:00.000000001Z"), kNewYear + 1);
  EXPECT_EQ(utc_of_iso("2026-01-01T00:00:00.0000000019Z"), kNewYear + 1);
}

TEST(IsoTime, any_other_text_is_none) {
  for (const char* text :
       {"", "now", "2026-01-01", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00.Z", "1969-12-31T23:59:59Z",
        "2026-01-01T00:00:00Z ", "2026-01-01T00:00:00+1", "+026-01-01T00:00:00Z"}) {
    EXPECT_FALSE(utc_of_iso(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace rashpa
