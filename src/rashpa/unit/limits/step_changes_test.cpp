// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/limits/step_changes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace rashpa::unit {
namespace {

TEST(StepChanges, a_change_holds_from_the_next_stack_on) {
  StepChanges<int> changes;
  EXPECT_FALSE(changes.begin());  // stack 0
  EXPECT_EQ(changes.put(7), 1U);
  EXPECT_EQ(changes.put(8), 1U);
  EXPECT_TRUE(changes.waiting());
  std::vector<int> adopted;
  const auto adopt = [&](int made) {
    adopted.push_back(made);
    return true;
  };
  changes.apply(0, adopt);  // a stack that had begun before
  EXPECT_TRUE(adopted.empty());
  ASSERT_TRUE(changes.begin());  // stack 1
  changes.apply(1, adopt);
  EXPECT_EQ(adopted, (std::vector{7, 8}));
  EXPECT_FALSE(changes.waiting());
  EXPECT_FALSE(changes.begin());  // stack 2
  EXPECT_EQ(changes.put(9), 3U);
}

TEST(StepChanges, one_that_is_not_taken_waits_for_the_next_call) {
  StepChanges<int> changes;
  EXPECT_EQ(changes.put(1), 0U);
  ASSERT_TRUE(changes.begin());
  int asked = 0;
  changes.apply(0, [&](int) { return ++asked > 1; });
  EXPECT_TRUE(changes.waiting());
  changes.apply(0, [&](int) { return ++asked > 1; });
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(changes.waiting());
}

TEST(StepChanges, who_counts_elsewhere_names_the_stack) {
  StepChanges<int> changes;
  changes.put_from(5, 1);
  std::vector<int> adopted;
  const auto adopt = [&](int made) {
    adopted.push_back(made);
    return true;
  };
  ASSERT_TRUE(changes.begin());  // the first one here is stack 3
  changes.apply(3, adopt);
  EXPECT_TRUE(adopted.empty());
  ASSERT_TRUE(changes.begin());
  changes.apply(8, adopt);
  EXPECT_EQ(adopted, std::vector{1});
  EXPECT_FALSE(changes.waiting());
}

TEST(StepChanges, who_is_told_the_stack_is_done_before_it_is_applied) {
  StepChanges<int> changes;
  EXPECT_FALSE(changes.begin());
  std::thread applying;
  std::atomic<int> told{0};
  changes.put(1, [&](std::uint64_t first) {
    EXPECT_EQ(first, 1U);
    applying = std::thread([&] {
      EXPECT_TRUE(changes.begin());
      changes.apply(1, [&](int) {
        EXPECT_EQ(told, 1);
        return true;
      });
    });
    told = 1;
  });
  applying.join();
  EXPECT_FALSE(changes.waiting());
}

TEST(StepChanges, each_change_begins_with_the_stack_that_was_said_whatever_threads_do) {
  constexpr std::uint64_t kChanges = 2000;
  StepChanges<std::uint64_t> changes;
  std::vector<std::uint64_t> said(kChanges);
  std::vector<std::uint64_t> seen(kChanges);
  std::uint64_t adopted = 0;
  std::thread putting([&] {
    for (std::uint64_t i = 0; i < kChanges; ++i) said[i] = changes.put(i);
  });
  for (std::uint64_t stack = 0; adopted < kChanges; ++stack) {
    if (!changes.begin()) continue;
    changes.apply(stack, [&](std::uint64_t made) {
      EXPECT_EQ(made, adopted);
      seen[made] = stack;
      ++adopted;
      return true;
    });
  }
  putting.join();
  EXPECT_EQ(seen, said);
}

}  // namespace
}  // namespace rashpa::unit
