// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/ledger.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rashpa::transfer {
namespace {

/// Returns a ledger of a hundred images, every third frame from frame 1 on.
Ledger ledger(std::uint64_t replay_frames = 1000) {
  return Ledger({.name = "farm", .run = 7, .slice = {3, 1}, .images = 100, .replay_frames = replay_frames});
}

/// All that are to be dealt again go to `member`.
std::vector<std::uint32_t> given_again(Ledger& books, std::size_t member) {
  std::vector<std::uint32_t> images;
  while (books.again()) images.push_back(books.give_again(member));
  return images;
}

TEST(Ledger, fresh_images_are_given_in_order_or_to_nobody) {
  Ledger books = ledger();
  EXPECT_EQ(books.fresh(), 0U);
  EXPECT_EQ(books.give_fresh(0), 0U);
  books.skip();
  EXPECT_EQ(books.give_fresh(1), 2U);
  EXPECT_EQ(books.fresh(), 3U);
  EXPECT_EQ(books.counts().fresh, 3U);
  EXPECT_EQ(books.counts().skipped, 1U);
  EXPECT_FALSE(books.again());
  EXPECT_EQ(books.where(2).frame, 7);
  EXPECT_EQ(books.where(2).run, 7);
}

TEST(Ledger, what_is_taken_back_is_dealt_again_in_order_and_once) {
  Ledger books = ledger();
  for (int i = 0; i < 4; ++i) books.give_fresh(0);
  EXPECT_TRUE(books.take_back(0, 1));
  EXPECT_TRUE(books.take_back(0, 3));
  EXPECT_FALSE(books.take_back(0, 1)) << "it is on its way already";
  EXPECT_FALSE(books.take_back(1, 2)) << "it is another member's";
  EXPECT_EQ(books.counts().waiting, 2U);
  EXPECT_EQ(given_again(books, 1), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(books.counts().waiting, 0U);
  EXPECT_EQ(books.counts().resent, 2U);
  EXPECT_FALSE(books.take_back(0, 1)) << "it is another member's now";
  EXPECT_TRUE(books.take_back(1, 1));
}

TEST(Ledger, images_of_all_members_slots_have_room_to_wait_in) {
  Ledger books({.name = "farm", .slice = {1, 0}, .images = 100, .replay_frames = 4});
  books.widen(books.room_for(8));
  for (int i = 0; i < 3; ++i) books.give_fresh(0);
  books.give_fresh(1);
  ASSERT_TRUE(books.take_back(1, 3));  // the first to be dealt again, and the last to leave the window
  for (std::uint32_t image = 0; image < 3; ++image) ASSERT_TRUE(books.take_back(0, image));
  for (int i = 0; i < 3; ++i) books.give_fresh(2);
  for (std::uint32_t image = 4; image < 7; ++image) ASSERT_TRUE(books.take_back(2, image));
  EXPECT_EQ(books.counts().waiting, 7U) << "more than the window has";
  EXPECT_EQ(given_again(books, 1), (std::vector<std::uint32_t>{3, 4, 5, 6}));
  EXPECT_EQ(books.counts().lost, 3U);
}

TEST(Ledger, an_image_that_two_members_have_done_is_a_duplicate_of_the_second) {
  Ledger books = ledger();
  books.give_fresh(0);
  ASSERT_TRUE(books.take_back(0, 0));
  given_again(books, 1);
  EXPECT_TRUE(books.done(0, 0)) << "the late one came first";
  EXPECT_FALSE(books.done(1, 0));
  EXPECT_EQ(books.counts().duplicates, 1U);
  EXPECT_TRUE(books.take_back(0, 0)) << "the first has it still, and may be given up with it";
}

TEST(Ledger, what_is_done_while_it_waits_is_not_dealt_again) {
  Ledger books = ledger();
  for (int i = 0; i < 3; ++i) books.give_fresh(0);
  for (const std::uint32_t image : {0U, 1U, 2U}) ASSERT_TRUE(books.take_back(0, image));
  EXPECT_TRUE(books.done(0, 0));
  EXPECT_TRUE(books.done(0, 1));
  EXPECT_EQ(books.again(), 2U);
  EXPECT_EQ(books.counts().waiting, 1U);
}

TEST(Ledger, what_has_left_the_window_is_lost_until_it_comes_after_all) {
  Ledger books = ledger(9);  // three images of every third frame
  for (int i = 0; i < 4; ++i) books.give_fresh(0);
  EXPECT_TRUE(books.take_back(0, 0)) << "taken, and lost";
  EXPECT_TRUE(books.take_back(0, 1)) << "the last that is in the window";
  EXPECT_EQ(books.counts().lost, 1U);
  EXPECT_EQ(books.again(), 1U);
  books.give_fresh(1);  // the window goes on
  EXPECT_FALSE(books.again());
  EXPECT_EQ(books.counts().lost, 2U);
  EXPECT_TRUE(books.done(0, 0));
  EXPECT_EQ(books.counts().lost, 1U);
  EXPECT_EQ(books.counts().duplicates, 0U);
}

TEST(Ledger, room_is_taken_for_the_window_and_all_slots_and_never_for_more_images_than_there_are) {
  const Ledger books = ledger(9);
  EXPECT_EQ(books.room_for(8).size(), 18U);
  EXPECT_EQ(books.room_for(1000).size(), 101U) << "all images, and one that is never used";
}

TEST(Ledger, more_room_keeps_what_waits) {
  Ledger books = ledger(6);
  for (int i = 0; i < 2; ++i) books.give_fresh(0);
  for (const std::uint32_t image : {0U, 1U}) ASSERT_TRUE(books.take_back(0, image));
  books.widen(books.room_for(8));
  EXPECT_EQ(given_again(books, 1), (std::vector<std::uint32_t>{0, 1}));
}

TEST(Ledger, the_ring_that_is_full_loses_by_count_and_forgets_nothing_that_waits) {
  Ledger books({.name = "farm", .images = 10, .replay_frames = 1});  // a ring of two
  books.give_fresh(0);
  ASSERT_TRUE(books.take_back(0, 0));
  given_again(books, 1);
  ASSERT_TRUE(books.take_back(1, 0));
  EXPECT_TRUE(books.done(0, 0));
  ASSERT_TRUE(books.take_back(0, 0));  // twice in the ring
  EXPECT_EQ(books.counts().waiting, 2U);
  EXPECT_TRUE(books.done(0, 0));
  ASSERT_TRUE(books.take_back(0, 0));
  EXPECT_EQ(books.counts().lost, 1U);
}

}  // namespace
}  // namespace rashpa::transfer
