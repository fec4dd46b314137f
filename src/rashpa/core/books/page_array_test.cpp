// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/books/page_array.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/core/end.hpp"

namespace rashpa {
namespace {

TEST(PageArray, room_for_the_longest_run_is_had_and_holds_zeros) {
  PageArray<std::uint16_t> table(kMostImages);
  EXPECT_EQ(table.size(), kMostImages);
  EXPECT_EQ(table[kMostImages - 1], 0);
  table[kMostImages - 1] = 7;
  table[0] = 3;
  PageArray<std::uint16_t> moved = std::move(table);
  EXPECT_EQ(moved[kMostImages - 1], 7);
  EXPECT_EQ(moved[0], 3);
  EXPECT_EQ(moved[1], 0);
}

TEST(PageArray, more_than_there_are_addresses_is_refused_in_words) {
  EXPECT_THROW(PageArray<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()}, ResourceError);
  EXPECT_THROW(PageArray<std::uint64_t>{std::uint64_t{1} << 60}, ResourceError);
}

TEST(CompletenessTable, images_outside_are_open_and_stay_so) {
  CompletenessTable table(3);
  table.set(2, Completeness::partial);
  table.set(3, Completeness::complete);
  EXPECT_EQ(table.get(2), Completeness::partial);
  EXPECT_EQ(table.get(0), Completeness::open);
  EXPECT_EQ(table.get(3), Completeness::open);
  EXPECT_EQ(CompletenessTable().images(), 0U);
}

}  // namespace
}  // namespace rashpa
