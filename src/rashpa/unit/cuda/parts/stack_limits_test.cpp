// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/stack_limits.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/steps_testing.hpp"

namespace rashpa::unit::cuda {
namespace {

namespace totals = kernel::total_counts;

constexpr std::size_t kOrder = 64;

std::vector<Meeting> meetings() { return {{.behind = 2, .first = 0, .end = 1, .bounds = {{1, 10, 20, 1, 2}}}}; }

template <typename T>
T at(const std::vector<std::byte>& order, const std::optional<StackLimits::Room>& room) {
  T value;
  std::memcpy(&value, order.data() + room.value().at, sizeof(value));
  return value;
}

kernel::LimitBytes limits_of(std::int64_t least) {
  const totals::Limits limits = totals::limits_of({.min_counts = least}, 64);
  return kernel::limit_bytes(std::span(&limits, 1));
}

kernel::LimitBytes bounds_of(std::int64_t least) {
  const kernel::Bound bound{1, least, 30, 1, 2};
  return kernel::limit_bytes(std::span(&bound, 1));
}

TEST(CudaStackLimits, have_rooms_behind_the_order) {
  const StackLimits limits(testing::two_steps(), testing::small_layout(), kOrder, meetings());
  EXPECT_EQ(limits.stride() % 64, 0U);
  EXPECT_GE(limits.of(0)->at, kOrder);
  EXPECT_GE(limits.of(1)->at, limits.of(0)->at + sizeof(totals::Limits));
  EXPECT_FALSE(limits.bounds_of(0)) << "members do not decide behind it";
  EXPECT_GE(limits.bounds_of(1)->at, limits.of(1)->at + sizeof(totals::Limits));
  EXPECT_EQ(limits.bounds_of(1)->bytes, sizeof(kernel::Bound));
  EXPECT_GE(limits.stride(), limits.bounds_of(1)->at + sizeof(kernel::Bound));
  for (const auto& room : {limits.of(0), limits.of(1), limits.bounds_of(1)}) EXPECT_EQ(room->at % 16, 0U);
}

TEST(CudaStackLimits, are_written_for_each_slot_and_told_once) {
  StackLimits limits(testing::two_steps(), testing::small_layout(), kOrder, meetings());
  std::vector<std::byte> first(limits.stride()), second(limits.stride());
  EXPECT_TRUE(limits.write(0, first.data())) << "of the first stack they are others than before";
  EXPECT_FALSE(limits.write(1, second.data()));
  limits.adopt({1, limits_of(7), bounds_of(11)});
  EXPECT_TRUE(limits.write(0, first.data()));
  EXPECT_EQ(at<totals::Limits>(first, limits.of(0)).least, totals::limits_of({}, 64).least);
  EXPECT_EQ(at<totals::Limits>(first, limits.of(1)).least, 7);
  EXPECT_EQ(at<kernel::Bound>(first, limits.bounds_of(1)).least, 11);
  EXPECT_EQ(at<kernel::Bound>(second, limits.bounds_of(1)).least, 10) << "its stack is under way with those of before";
  EXPECT_FALSE(limits.write(1, second.data()));
  EXPECT_EQ(at<kernel::Bound>(second, limits.bounds_of(1)).least, 11);
  EXPECT_EQ(first, second);
}

TEST(CudaStackLimits, take_nothing_that_does_not_fit) {
  const StackLimits limits(testing::two_steps(), testing::small_layout(), kOrder, meetings());
  limits.check({0, limits_of(1), {}});
  limits.check({1, limits_of(1), bounds_of(1)});
  kernel::LimitBytes longer = limits_of(1);
  longer.resize(longer.size() + 16);
  EXPECT_THROW(limits.check({0, longer, {}}), ConfigError);
  EXPECT_THROW(limits.check({0, limits_of(1), bounds_of(1)}), ConfigError);
  EXPECT_THROW(limits.check({1, limits_of(1), {}}), ConfigError);
}

}  // namespace
}  // namespace rashpa::unit::cuda
