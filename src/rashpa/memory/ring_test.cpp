// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/ring.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "rashpa/core/testing/testing.hpp"

namespace rashpa::memory {
namespace {

TEST(Ring, full_and_empty_are_returned_not_thrown) {
  Ring<int> ring(4);
  int item = 0;
  EXPECT_FALSE(ring.try_pop(item));
  for (int value = 0; value < 4; ++value) EXPECT_EQ(ring.try_push(value), Push::done);
  EXPECT_EQ(ring.try_push(4), Push::full);
  EXPECT_EQ(ring.size(), 4U);
  for (int value = 0; value < 4; ++value) {
    ASSERT_TRUE(ring.try_pop(item));
    EXPECT_EQ(item, value);
  }
  EXPECT_FALSE(ring.try_pop(item));
}

TEST(Ring, keeps_order_and_loses_nothing_between_two_threads) {
  Ring<std::uint64_t> ring(8);
  constexpr std::uint64_t kItems = 200'000;
  std::jthread producer([&] {
    for (std::uint64_t value = 0; value < kItems; ++value) ASSERT_EVENTUALLY(ring.try_push(value) == Push::done);
  });
  for (std::uint64_t expected = 0; expected < kItems; ++expected) {
    std::uint64_t item = 0;
    ASSERT_EVENTUALLY(ring.try_pop(item));
    ASSERT_EQ(item, expected);
  }
}

}  // namespace
}  // namespace rashpa::memory
