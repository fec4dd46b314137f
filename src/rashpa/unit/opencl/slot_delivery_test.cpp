// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/slot_delivery.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "rashpa/unit/opencl/parts_testing.hpp"

namespace rashpa::unit::opencl {
namespace {

using SlotDeliveryTest = testing::OnDevice;

TEST_F(SlotDeliveryTest, kept_images_leave_with_their_lists_and_others_do_not) {
  Steps steps = testing::two_steps();
  steps.output.list_capacity = 10;
  const Places places(steps, testing::small_layout(), false);
  SlotDelivery delivery(*device, steps.output, places, 2, true);
  std::vector<std::int32_t> made(3 * 64);
  std::iota(made.begin(), made.end(), 1);
  std::vector<std::uint32_t> index(3 * 16);
  std::iota(index.begin(), index.end(), 100);
  std::vector<std::int32_t> value(3 * 16);
  std::iota(value.begin(), value.end(), 200);
  const auto device_made = device->memory_of(made, "test");
  const auto device_index = device->memory_of(index, "test");
  const auto device_value = device->memory_of(value, "test");
  std::array<kernel::opencl::ImageBooks, 3> books{};
  books[0].entries = 4;
  books[2].entries = 2;
  ASSERT_EQ(delivery.deliver({device_made.get(), {device_index.get(), device_value.get(), 16}, books}, 1,
                             std::array<std::uint8_t, 3>{0, 1, 1}, queue.get()),
            CL_SUCCESS);
  finish();
  const auto first_pixel = [&](std::uint32_t slot, std::uint32_t image) {
    std::int32_t pixel = 0;
    std::memcpy(&pixel, delivery.pixels(slot, image), sizeof(pixel));
    return pixel;
  };
  EXPECT_EQ(first_pixel(1, 0), 0) << "not kept";
  EXPECT_EQ(first_pixel(1, 1), 65);
  EXPECT_EQ(first_pixel(1, 2), 129);
  EXPECT_EQ(first_pixel(0, 1), 0) << "another slot";
  const SparseView list = delivery.list(1, 2, books[2].entries);
  ASSERT_EQ(list.count, 2U);
  EXPECT_EQ(list.index[0], 132U);
  EXPECT_EQ(list.index[1], 133U);
  EXPECT_EQ(static_cast<const std::int32_t*>(list.value)[1], 233);
  EXPECT_EQ(delivery.list(1, 0, 1).index[0], 0U) << "not kept";
}

TEST_F(SlotDeliveryTest, without_lists_and_pixels_nothing_leaves) {
  const Places places(testing::two_steps(), testing::small_layout(), true);
  SlotDelivery delivery(*device, testing::two_steps().output, places, 1, false);
  std::array<kernel::opencl::ImageBooks, 3> books{};
  books[0].entries = 4;  // of a list that the host has made
  EXPECT_EQ(delivery.deliver({.books = books}, 0, std::array<std::uint8_t, 3>{1, 1, 1}, queue.get()), CL_SUCCESS);
}

}  // namespace
}  // namespace rashpa::unit::opencl
