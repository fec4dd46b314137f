// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/fpga/card_pages.hpp"

#include <gtest/gtest.h>

namespace rashpa::unit::fpga {
namespace {

TEST(CardPages, nothing_overlaps_and_everything_is_counted) {
  const CardPages pages(5000, 4, 3, 2);  // an image of three blocks
  EXPECT_EQ(pages.image, 3U);
  EXPECT_EQ(pages.calibration_low, 0U);
  EXPECT_EQ(pages.calibration_high, 18U);
  std::uint32_t next = 36;
  ASSERT_EQ(pages.benches.size(), 3U);
  for (const card::UnitStack& bench : pages.benches) {
    EXPECT_EQ(bench.raw, next);
    EXPECT_EQ(bench.photons, next + 12);
    EXPECT_EQ(bench.results, next + 24);
    EXPECT_EQ(bench.lists, next + 25);
    next += 33;
  }
  EXPECT_EQ(pages.bytes(), std::uint64_t{next} * card::kCardPage);
}

TEST(CardPages, without_lists_there_is_no_room_for_any) {
  const CardPages with(2048, 1, 1, 1);
  const CardPages without(2048, 1, 1, 0);
  EXPECT_EQ(with.bytes() - without.bytes(), card::kCardPage);
}

}  // namespace
}  // namespace rashpa::unit::fpga
