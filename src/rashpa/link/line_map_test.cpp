// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/line_map.hpp"

#include <gtest/gtest.h>

namespace rashpa::link {
namespace {

TEST(LineMap, counts_new_units_and_knows_the_lines_that_miss_one) {
  LineMap map(3, 40);
  EXPECT_EQ(map.set(0, 100), 100U);
  EXPECT_EQ(map.set(90, 20), 10U);
  EXPECT_EQ(map.lines_missing(), 1U);
  EXPECT_FALSE(map.full());
  EXPECT_EQ(map.set(110, 10), 10U);
  EXPECT_TRUE(map.full());
  map.clear(40);
  EXPECT_EQ(map.arrived(), 0U);
}

TEST(LineMap, refined_units_have_arrived_as_the_whole_had) {
  for (const std::uint32_t parts : {2U, 3U, 32U, 100U}) {
    LineMap map(7, 5, 5 * parts);
    map.set(1, 2);
    map.set(9, 17);
    LineMap fine = map;
    fine.refine(parts);
    EXPECT_EQ(fine.units(), map.units() * parts);
    EXPECT_EQ(fine.arrived(), map.arrived() * parts);
    EXPECT_EQ(fine.lines_missing(), map.lines_missing());
    for (std::uint64_t unit = 0; unit < fine.units(); ++unit) {
      ASSERT_EQ(fine.unit_arrived(unit), map.unit_arrived(unit / parts)) << unit << " of " << parts;
    }
    fine.set(0, fine.units());
    EXPECT_TRUE(fine.full());
    fine.clear(5);
    EXPECT_EQ(fine.units(), 35U);
    EXPECT_EQ(fine.set(0, 35), 35U);
  }
}

}  // namespace
}  // namespace rashpa::link
