// SPDX-License-Identifier: Apache-2.0
/// A stack on its way over the device, leg by leg; units are opencl_unit_test.cpp.
#include "rashpa/unit/opencl/stack_work.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/opencl/parts_testing.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit::opencl {
namespace {

class StackWorkTest : public testing::OnDevice {
 protected:
  void SetUp() override {
    testing::OnDevice::SetUp();
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto value = static_cast<std::uint16_t>(i + 1);
      auto* const pixels = reinterpret_cast<std::uint16_t*>(ring.all[1].images[i].raw);
      std::fill_n(pixels, 64 * 16, value);
    }
  }
  /// Returns steps that accept images with at least 1500 counts: the second and the third.
  [[nodiscard]] Steps steps() const {
    return steps_of({{kernel::total_counts::step_of({.min_counts = 1500})}}, ring.layout);
  }
  StackRing ring{64, 16, 3, 2, memory::MemoryKind::pageable};
};

TEST_F(StackWorkTest, a_stack_is_brought_in_computed_and_settled_whether_copied_or_in_place) {
  for (const Transfer transfer : {Transfer::copied, Transfer::in_place}) {
    if (transfer == Transfer::in_place && !device->info().unified) continue;
    StackWork work(*device, steps(), ring.layout, 2, transfer);
    EXPECT_EQ(work.in_place(), transfer == Transfer::in_place);
    EXPECT_GT(work.ready_ns(), 0);
    Stack& stack = ring.all[1];
    ASSERT_EQ(work.start(1, stack, std::array<std::uint8_t, 3>{1, 0, 1}), CL_SUCCESS);
    ASSERT_EVENTUALLY(work.decided(1) <= CL_COMPLETE);
    ASSERT_EQ(work.decided(1), CL_COMPLETE);
    EXPECT_FALSE(work.settle(1, stack)) << "there is one leg";
    EXPECT_EQ(work.books(1, 0).scalars[0].count(), 1024U);
    EXPECT_EQ(work.books(1, 0).verdict, 1) << "too few";
    EXPECT_EQ(work.books(1, 1).scalars[0].count(), 0U) << "nobody asked for it";
    EXPECT_EQ(work.books(1, 2).scalars[0].count(), 3072U);
    EXPECT_EQ(work.books(1, 2).verdict, 0);
    ASSERT_EQ(work.deliver(1, stack.slot, std::array<std::uint8_t, 3>{0, 0, 1}), CL_SUCCESS);
    ASSERT_EVENTUALLY(work.delivered(1) == CL_COMPLETE);
    EXPECT_EQ(work.pixels(stack, 2), stack.images[2].raw) << "nobody has made other pixels";
  }
}

TEST_F(StackWorkTest, benches_do_not_see_each_other) {
  StackWork work(*device, steps(), ring.layout, 2, Transfer::copied);
  ASSERT_EQ(work.start(0, ring.all[1], std::array<std::uint8_t, 3>{1, 1, 1}), CL_SUCCESS);
  ASSERT_EQ(work.start(1, ring.all[0], std::array<std::uint8_t, 3>{1, 1, 1}), CL_SUCCESS);
  ASSERT_EVENTUALLY(work.decided(0) <= CL_COMPLETE && work.decided(1) <= CL_COMPLETE);
  EXPECT_EQ(work.books(0, 1).scalars[0].count(), 2048U);
  EXPECT_EQ(work.books(1, 1).scalars[0].count(), 0U);
}

TEST_F(StackWorkTest, a_pipeline_without_kernels_takes_nothing) {
  const std::size_t before = device->taken();
  const StackWork work(*device, steps_of({}, ring.layout), ring.layout, 2, Transfer::copied);
  EXPECT_EQ(device->taken(), before);
}

TEST_F(StackWorkTest, refuses_images_that_lie_where_no_device_reads_them) {
  Layout nowhere = ring.layout;
  nowhere.images = nullptr;
  EXPECT_THROW(StackWork(*device, steps(), nowhere, 2, Transfer::copied), ConfigError);
}

}  // namespace
}  // namespace rashpa::unit::opencl
