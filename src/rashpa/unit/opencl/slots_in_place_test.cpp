// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/slots_in_place.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/opencl/parts_testing.hpp"

namespace rashpa::unit::opencl {
namespace {

class SlotsInPlaceTest : public testing::OnDevice {
 protected:
  void SetUp() override {
    testing::OnDevice::SetUp();
    if (!IsSkipped() && !device->info().unified) GTEST_SKIP() << "a device with memory of its own";
    layout.image_stride = 4096;
    memory = memory::Buffer(std::size_t{3} * 4096 * layout.stacks, memory::MemoryKind::pageable);
    layout.images = memory.data();
  }
  Layout layout = testing::small_layout();
  memory::Buffer memory;
};

TEST_F(SlotsInPlaceTest, images_go_to_the_device_and_back_slot_by_slot) {
  const Places places(testing::two_steps(), layout, true);
  SlotsInPlace slots(*device, layout, places, queue.get());
  layout.images[std::size_t{3} * 4096] = std::byte{7};  // of the second slot: all are the host's at first
  ASSERT_EQ(slots.to_device(1, queue.get()), CL_SUCCESS);
  EXPECT_EQ(read<std::byte>(slots.raw(1), 1)[0], std::byte{7});
  ASSERT_EQ(slots.to_host(1, queue.get()), CL_SUCCESS);
  finish();
  layout.images[std::size_t{3} * 4096] = std::byte{8};
  ASSERT_EQ(slots.to_device(1, queue.get()), CL_SUCCESS) << "again and again";
  EXPECT_EQ(read<std::byte>(slots.raw(1), 1)[0], std::byte{8});
  ASSERT_EQ(slots.to_host(1, queue.get()), CL_SUCCESS);
}

TEST_F(SlotsInPlaceTest, images_that_leave_are_read_where_the_device_has_put_them) {
  const Places places(testing::two_steps(), layout, true);
  SlotsInPlace slots(*device, layout, places, queue.get());
  for (const std::uint32_t value : {5U, 6U}) {
    ASSERT_EQ(slots.to_device(0, queue.get()), CL_SUCCESS);
    ASSERT_EQ(memory::opencl::api().fill_buffer(queue.get(), slots.made(0), &value, sizeof(value), 0,
                                                3 * places.leaving_stride(), 0, nullptr, nullptr),
              CL_SUCCESS);
    ASSERT_EQ(slots.to_host(0, queue.get()), CL_SUCCESS);
    ASSERT_EQ(slots.made_to_host(0, queue.get()), CL_SUCCESS);
    finish();
    std::uint32_t found = 0;
    std::memcpy(&found, slots.made_images(0) + 2 * places.leaving_stride(), sizeof(found));
    EXPECT_EQ(found, value);
  }
}

TEST(OpenclSlots, of_copied_images_there_are_none) { EXPECT_NO_THROW(SlotsInPlace{}); }

}  // namespace
}  // namespace rashpa::unit::opencl
