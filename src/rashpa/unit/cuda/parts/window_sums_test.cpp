// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/window_sums.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "rashpa/unit/cuda/parts/parts_testing.hpp"

namespace rashpa::unit::cuda {
namespace {

/// Counts the images that it is given, on the host.
class CountingPass final : public testing::IdlePass, public kernel::cuda::HostAdding {
 public:
  void add(std::uint32_t place) noexcept override { places.push_back(place); }
  void write(const kernel::AccumulatedArrays& to) noexcept override {
    const auto count = static_cast<std::int32_t>(places.size());
    std::memcpy(to[0], &count, sizeof(count));
    places.clear();
  }
  std::vector<std::uint32_t> places;
};

/// A pass whose device adds up. It remembers the places of results.
class DevicePassOfSums final : public testing::IdlePass, public kernel::cuda::DeviceAdding {
 public:
  int conclude(const kernel::AccumulatedArrays& to, CUstream_st* /*stream*/) const noexcept override {
    concluded = to[0];
    return code;
  }
  mutable const std::byte* concluded = nullptr;
  int code = 0;
};

/// Windows of six images, two stacks of three each.
Accumulation windows_of_six() {
  return {.name = "count", .quantities = {{.name = "images", .type = Quantity::Type::i32}}, .shape = {1}, .window = 6};
}

Stack stack_of(std::uint64_t number) {
  Stack stack{.slot = static_cast<std::uint32_t>(number % 2),
              .number = number,
              .count = 3,
              .images = std::vector<StackImage>(3)};
  for (std::uint32_t i = 0; i < 3; ++i) {
    stack.images[i].index = number * 3 + i;
    stack.images[i].measured = true;
  }
  return stack;
}

std::int32_t value_of(const AccumulatedView& window) {
  std::int32_t found = 0;
  std::memcpy(&found, window.values[0], sizeof(found));
  return found;
}

constexpr auto kAllKept = [](std::uint32_t /*image*/, std::size_t /*step*/) { return true; };

TEST(CudaWindowSums, adds_up_what_was_measured_and_kept_and_ends_with_the_last_stack_of_a_window) {
  CountingPass pass;
  WindowSums sums;
  sums.add(1, windows_of_six(), testing::small_layout(), pass, false);
  Stack first = stack_of(0);
  first.images[1].measured = false;
  sums.account(first, true, 0, kAllKept);
  EXPECT_FALSE(first.accumulated[0].ended());
  EXPECT_EQ(pass.places, (std::vector<std::uint32_t>{0, 2}));
  Stack second = stack_of(1);
  sums.account(second, true, 3, [](std::uint32_t image, std::size_t step) {
    EXPECT_EQ(step, 1U) << "the one that adds up";
    return image != 0;
  });
  const AccumulatedView& window = second.accumulated[0];
  ASSERT_TRUE(window.ended());
  EXPECT_EQ(window.images, 4U);
  EXPECT_EQ(value_of(window), 4);
}

TEST(CudaWindowSums, of_a_stack_that_has_not_come_nothing_is_added) {
  CountingPass pass;
  WindowSums sums;
  sums.add(0, windows_of_six(), testing::small_layout(), pass, false);
  Stack first = stack_of(0);
  sums.account(first, false, 0, kAllKept);
  EXPECT_TRUE(pass.places.empty());
  Stack second = stack_of(1);
  sums.account(second, true, 3, kAllKept);
  EXPECT_EQ(second.accumulated[0].images, 3U);
}

TEST(CudaWindowSums, what_is_open_at_the_end_is_closed_once) {
  CountingPass pass;
  WindowSums sums;
  sums.add(0, windows_of_six(), testing::small_layout(), pass, false);
  Stack first = stack_of(2);
  sums.account(first, true, 0, kAllKept);
  Accumulated all{};
  ASSERT_EQ(sums.close_open(all), cudaSuccess);
  ASSERT_TRUE(all[0].ended());
  EXPECT_EQ(all[0].window, 1U);
  EXPECT_EQ(value_of(all[0]), 3);
  Accumulated again{};
  ASSERT_EQ(sums.close_open(again), cudaSuccess);
  EXPECT_FALSE(again[0].ended());
}

TEST(CudaWindowSums, an_order_says_where_the_sums_of_a_window_go_and_only_where_one_ends) {
  DevicePassOfSums pass;
  WindowSums sums;
  sums.add(0, windows_of_six(), testing::small_layout(), pass, false);
  Order order{};
  order.ended[0][0] = reinterpret_cast<std::byte*>(&order);
  sums.order(stack_of(0), order);
  EXPECT_EQ(order.ended[0][0], nullptr);
  sums.order(stack_of(1), order);
  const std::byte* const told = order.ended[0][0];
  ASSERT_NE(told, nullptr);
  Stack first = stack_of(0);
  Stack second = stack_of(1);
  sums.account(first, true, 0, kAllKept);
  sums.account(second, true, 3, kAllKept);
  ASSERT_TRUE(second.accumulated[0].ended());
  EXPECT_EQ(second.accumulated[0].values[0], told) << "the window is read where the device has written it";
}

TEST(CudaWindowSums, results_that_a_failed_device_owes_are_nowhere) {
  DevicePassOfSums pass;
  WindowSums sums;
  sums.add(0, windows_of_six(), testing::small_layout(), pass, false);
  Stack first = stack_of(0);
  Stack second = stack_of(1);
  sums.account(first, true, 0, kAllKept);
  sums.account(second, false, 3, kAllKept);
  EXPECT_FALSE(second.accumulated[0].ended());
}

TEST(CudaWindowSums, what_the_device_adds_up_it_is_told_to_conclude) {
  DevicePassOfSums pass;
  WindowSums sums;
  sums.add(0, windows_of_six(), testing::small_layout(), pass, true);
  Stack first = stack_of(0);
  sums.account(first, true, 0, kAllKept);
  Accumulated all{};
  ASSERT_EQ(sums.close_open(all), cudaSuccess);
  EXPECT_NE(pass.concluded, nullptr);
  EXPECT_TRUE(all[0].ended());
  Stack second = stack_of(2);
  sums.account(second, true, 0, kAllKept);
  pass.code = cudaErrorInvalidValue;
  EXPECT_EQ(sums.close_open(all), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace rashpa::unit::cuda
