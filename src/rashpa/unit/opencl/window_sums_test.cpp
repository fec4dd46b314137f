// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/window_sums.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "rashpa/unit/opencl/parts_testing.hpp"

namespace rashpa::unit::opencl {
namespace {

/// Counts the images that it is given.
class CountingPass final : public testing::RecordingPass, public kernel::opencl::HostAdding {
 public:
  CountingPass() : RecordingPass(Where::host) {}
  void add(const kernel::opencl::HostItem& item) noexcept override { places.push_back(item.place); }
  void write(const kernel::AccumulatedArrays& to) noexcept override {
    const auto count = static_cast<std::int32_t>(places.size());
    std::memcpy(to[0], &count, sizeof(count));
    places.clear();
  }
  std::vector<std::uint32_t> places;
};

/// Windows of six images, two stacks of three each.
struct Summed {
  Summed() {
    sums.add(
        1,
        {.name = "count", .quantities = {{.name = "images", .type = Quantity::Type::i32}}, .shape = {1}, .window = 6},
        testing::small_layout(), pass);
  }
  static Stack stack(std::uint64_t number) {
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
  static std::int32_t value(const AccumulatedView& window) {
    std::int32_t found = 0;
    std::memcpy(&found, window.values[0], sizeof(found));
    return found;
  }
  CountingPass pass;
  WindowSums sums;
};

constexpr auto kAll = [](std::uint32_t /*image*/, std::size_t /*step*/) { return true; };

TEST(OpenclWindowSums, adds_up_what_was_measured_and_kept_and_ends_with_the_last_stack_of_a_window) {
  Summed s;
  EXPECT_FALSE(s.sums.ends_with(0));
  EXPECT_TRUE(s.sums.ends_with(1));
  Stack first = Summed::stack(0);
  first.images[1].measured = false;
  s.sums.account(0, true, first, kAll);
  EXPECT_FALSE(first.accumulated[0].ended());
  EXPECT_EQ(s.pass.places, (std::vector<std::uint32_t>{0, 2}));
  Stack second = Summed::stack(1);
  s.sums.account(0, true, second, [](std::uint32_t image, std::size_t step) {
    EXPECT_EQ(step, 1U) << "the one that adds up";
    return image != 0;
  });
  const AccumulatedView& window = second.accumulated[0];
  ASSERT_TRUE(window.ended());
  EXPECT_EQ(window.window, 0U);
  EXPECT_EQ(window.images, 4U);
  EXPECT_EQ(Summed::value(window), 4);
}

TEST(OpenclWindowSums, of_a_stack_that_was_not_started_nothing_is_added) {
  Summed s;
  Stack first = Summed::stack(0);
  s.sums.account(0, false, first, kAll);
  EXPECT_TRUE(s.pass.places.empty());
  Stack second = Summed::stack(1);
  s.sums.account(0, true, second, kAll);
  EXPECT_EQ(second.accumulated[0].images, 3U);
}

class OpenWindowSums : public testing::OnDevice {};

TEST_F(OpenWindowSums, what_is_open_at_the_end_is_closed_once) {
  Summed s;
  Stack first = Summed::stack(2);
  s.sums.account(0, true, first, kAll);
  Accumulated all{};
  ASSERT_EQ(s.sums.close_open(all, queue.get()), CL_SUCCESS);
  ASSERT_TRUE(all[0].ended());
  EXPECT_EQ(all[0].window, 1U);
  EXPECT_EQ(Summed::value(all[0]), 3);
  Accumulated again{};
  ASSERT_EQ(s.sums.close_open(again, queue.get()), CL_SUCCESS);
  EXPECT_FALSE(again[0].ended());
}

}  // namespace
}  // namespace rashpa::unit::opencl
