// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/limits/joint_changes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

namespace rashpa::unit {
namespace {

/// A change of a member, which notes the numbers that it is given by.
ReadyLimits noting(std::vector<std::optional<std::uint64_t>>& given) {
  return [&given](std::optional<std::uint64_t> first) {
    given.push_back(first);
    return first.value_or(0);
  };
}

TEST(JointChanges, all_members_have_a_change_from_the_same_stack_on) {
  JointChanges changes;
  std::vector<std::optional<std::uint64_t>> one, other;
  changes.begin(0);
  changes.begin(1);
  const ReadyLimits change = changes.ready({noting(one), noting(other)});
  EXPECT_TRUE(one.empty()) << "it only waits to be given";
  EXPECT_EQ(change({}), 2U);
  EXPECT_EQ(one, std::vector{std::optional<std::uint64_t>(2)});
  EXPECT_EQ(other, one);
  changes.begin(2);
  EXPECT_EQ(changes.ready({noting(one)})({}), 3U);
}

TEST(JointChanges, a_unit_above_names_the_stack) {
  JointChanges changes;
  std::vector<std::optional<std::uint64_t>> one;
  EXPECT_EQ(changes.ready({noting(one)})(7), 7U);
  EXPECT_EQ(one, std::vector{std::optional<std::uint64_t>(7)});
}

TEST(JointChanges, a_stack_is_not_submitted_before_all_members_have_its_change) {
  for (int round = 0; round < 200; ++round) {
    JointChanges changes;
    std::atomic<int> told{0};
    const ReadyLimits member = [&told](std::optional<std::uint64_t> number) {
      told += 1;
      return number.value_or(0);
    };
    std::uint64_t first = 0;
    std::thread changing([&] { first = changes.ready({member, member})({}); });
    std::vector<int> seen;
    for (std::uint64_t stack = 0; stack < 20; ++stack) {
      changes.begin(stack);
      seen.push_back(told);
    }
    changing.join();
    for (std::uint64_t stack = first; stack < seen.size(); ++stack) EXPECT_EQ(seen[stack], 2) << stack;
  }
}

}  // namespace
}  // namespace rashpa::unit
