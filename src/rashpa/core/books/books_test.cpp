// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/books/books.hpp"

#include <gtest/gtest.h>

namespace rashpa {
namespace {

constexpr Books kGood{
    .expected = 10, .complete = 7, .partial = 2, .missing = 1, .accepted = 4, .vetoed = 4, .errored = 1, .written = 4};

TEST(Books, balanced_books_balance) { EXPECT_TRUE(kGood.balanced()); }

TEST(Books, one_image_astray_in_any_line_is_seen) {
  for (auto member : {&Books::expected, &Books::complete, &Books::partial, &Books::missing, &Books::accepted,
                      &Books::vetoed, &Books::errored, &Books::written}) {
    Books bad = kGood;
    bad.*member += 1;
    EXPECT_FALSE(bad.balanced());
  }
}

TEST(Books, those_of_nothing_are_zeros) {
  EXPECT_EQ(Books{}, (Books{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(Books{}.balanced());
}

TEST(Books, fates_have_the_numbers_that_tables_of_images_say) {
  EXPECT_EQ(static_cast<int>(Completeness::open), 0);
  EXPECT_EQ(static_cast<int>(Completeness::complete), 1);
  EXPECT_EQ(static_cast<int>(Completeness::partial), 2);
  EXPECT_EQ(static_cast<int>(Completeness::missing), 3);
}

TEST(Books, sums_member_by_member) {
  Books sum = kGood;
  sum += kGood;
  EXPECT_EQ(sum.expected, 20U);
  EXPECT_EQ(sum.written, 8U);
  EXPECT_TRUE(sum.balanced());
}

}  // namespace
}  // namespace rashpa
