// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/testing/testing.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace rashpa {
namespace {

TEST(Eventually, what_is_true_is_not_waited_for) {
  int asked = 0;
  EXPECT_EVENTUALLY(++asked == 1);
  EXPECT_EQ(asked, 1);
}

TEST(Eventually, what_another_thread_makes_true_is_seen) {
  std::atomic<int> count{0};
  const std::jthread thread([&] {
    while (count < 1000) ++count;
  });
  ASSERT_EVENTUALLY(count == 1000);
}

TEST(Eventually, what_does_not_come_true_is_a_failure_that_names_it) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = eventually([] { return false; }, "pigs == fly", std::chrono::milliseconds(5));
  EXPECT_FALSE(result);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(5));
  EXPECT_EQ(std::string(result.message()), "`pigs == fly` did not come true within 5 ms");
}

}  // namespace
}  // namespace rashpa
