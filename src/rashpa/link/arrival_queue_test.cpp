// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/arrival_queue.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "rashpa/core/testing/testing.hpp"

namespace rashpa::link {
namespace {

constexpr std::size_t kEntries = 4;

Arrival complete(std::uint64_t index) { return {.index = index, .completeness = Completeness::complete}; }
Arrival missing(std::uint64_t index, Loss loss = Loss::overrun) { return {.index = index, .loss = loss}; }

TEST(ArrivalQueue, missing_images_never_fill_it_and_come_out_one_by_one) {
  ArrivalQueue queue(kEntries);
  constexpr std::uint64_t kImages = 1000;
  for (std::uint64_t i = 0; i < kImages; ++i) ASSERT_TRUE(queue.push(missing(i)));
  EXPECT_TRUE(queue.waiting());
  EXPECT_FALSE(queue.ready());
  for (std::uint64_t i = 0; i < kImages; ++i) {
    const Arrival* arrival = queue.front();
    if (arrival == nullptr) {
      ASSERT_TRUE(queue.flush());
      arrival = queue.front();
    }
    ASSERT_NE(arrival, nullptr) << i;
    EXPECT_EQ(arrival->index, i);
    EXPECT_EQ(arrival->loss, Loss::overrun);
    queue.pop();
  }
  EXPECT_EQ(queue.front(), nullptr);
  EXPECT_TRUE(queue.ready());
}

TEST(ArrivalQueue, what_cannot_be_part_of_the_run_stays_with_the_link_until_there_is_room) {
  ArrivalQueue queue(kEntries);
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_TRUE(queue.push(complete(i)));
  EXPECT_FALSE(queue.ready());
  EXPECT_FALSE(queue.push(complete(kEntries))) << "an image with pixels is no run";
  ASSERT_TRUE(queue.push(missing(kEntries)));
  EXPECT_FALSE(queue.push(missing(kEntries + 1, Loss::deadline))) << "lost in another way";
  EXPECT_FALSE(queue.push(complete(kEntries + 1)));
  ASSERT_NE(queue.front(), nullptr);
  EXPECT_EQ(queue.front(), queue.front()) << "looking takes nothing";
  queue.pop();
  EXPECT_FALSE(queue.push(complete(kEntries + 1))) << "the room is the run's";
  ASSERT_NE(queue.front(), nullptr);
  queue.pop();
  EXPECT_TRUE(queue.push(complete(kEntries + 1)));
  for (std::uint64_t i = 2; i < kEntries + 2; ++i) {
    const Arrival* arrival = queue.front();
    ASSERT_NE(arrival, nullptr);
    EXPECT_EQ(arrival->index, i);
    EXPECT_EQ(arrival->completeness == Completeness::missing, i == kEntries);
    queue.pop();
  }
  EXPECT_EQ(queue.front(), nullptr);
}

TEST(ArrivalQueue, between_two_threads_every_image_passes_once_and_in_order) {
  constexpr std::uint64_t kImages = 200'000;
  ArrivalQueue queue(kEntries);
  const auto loss_of = [](std::uint64_t index) { return index / 50 % 3 == 0 ? Loss::event : Loss::overrun; };
  const auto lost = [](std::uint64_t index) { return index / 20 % 2 == 0; };
  std::jthread link([&] {
    for (std::uint64_t i = 0; i < kImages; ++i) {
      ASSERT_EVENTUALLY(queue.push(lost(i) ? missing(i, loss_of(i)) : complete(i)));
    }
    ASSERT_EVENTUALLY(queue.flush());
  });
  for (std::uint64_t i = 0; i < kImages; ++i) {
    const Arrival* arrival = nullptr;
    ASSERT_EVENTUALLY((arrival = queue.front()) != nullptr);
    ASSERT_EQ(arrival->index, i);
    ASSERT_EQ(arrival->completeness, lost(i) ? Completeness::missing : Completeness::complete) << i;
    ASSERT_EQ(arrival->loss, lost(i) ? loss_of(i) : Loss::none) << i;
    queue.pop();
  }
}

}  // namespace
}  // namespace rashpa::link
