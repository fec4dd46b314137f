// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/books/page_array.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
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
  EXPECT_EQ(table.size(), 0U);  // NOLINT: it is said to be empty then
  EXPECT_EQ(PageArray<std::uint16_t>().size(), 0U);
}

TEST(PageArray, one_that_is_assigned_or_gone_has_given_its_addresses_back) {
  constexpr std::uint64_t kQuarter = std::uint64_t{1} << 42;  // of the addresses that a process has, in words of 8
  PageArray<std::uint64_t> kept;
  for (std::uint64_t round = 0; round < 8; ++round) {
    PageArray<std::uint64_t> table(kQuarter);
    table[1] = round;
    kept = std::move(table);
    EXPECT_EQ(kept.size(), kQuarter);
    EXPECT_EQ(kept[1], round);
    EXPECT_EQ(table.size(), 0U);  // NOLINT
    const PageArray<std::uint64_t> gone(kQuarter);
  }
  PageArray<std::uint64_t>& same = kept;
  kept = std::move(same);
  EXPECT_EQ(kept[1], 7U) << "nothing is moved into itself";
}

TEST(PageArray, more_than_there_are_addresses_is_refused_in_words) {
  EXPECT_THROW(PageArray<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()}, ResourceError);
  EXPECT_THROW(PageArray<std::uint64_t>{std::uint64_t{1} << 60}, ResourceError);
  errno = 0;
  try {
    const PageArray<std::uint64_t> table(std::numeric_limits<std::uint64_t>::max());
  } catch (const ResourceError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("Cannot allocate memory")) << "though nobody was asked";
  }
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
