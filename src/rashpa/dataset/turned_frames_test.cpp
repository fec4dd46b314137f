// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/turned_frames.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"

namespace rashpa::dataset {
namespace {

constexpr std::uint32_t kWidth = 70, kHeight = 37;  // no whole number of squares

std::uint32_t value(const Dataset& data, std::uint32_t module, std::uint64_t frame, std::uint32_t x, std::uint32_t y) {
  std::uint32_t found = 0;
  const std::uint32_t bytes = pixel_bytes(data.shape().pixel);
  std::memcpy(&found, data.frame(module, frame) + (std::size_t{y} * data.shape().width + x) * bytes, bytes);
  return found;
}

/// A quarter clockwise moves the left side to the top, and the lower side to the left. The definition, by turning
/// again.
std::array<std::uint32_t, 2> turned_once(std::array<std::uint32_t, 2> at, std::uint32_t height) {
  return {height - 1 - at[1], at[0]};
}

void expect_turned(PixelType pixel, Orientation way) {
  const auto data = make_pattern({kWidth, kHeight, pixel}, 2, 3);
  const auto turned = turned_frames(*data, 1, way);
  ASSERT_EQ(turned->modules(), 1U);
  ASSERT_EQ(turned->frames(), 3U);
  ASSERT_EQ(turned->shape().width, way.swaps_sides() ? kHeight : kWidth);
  ASSERT_EQ(turned->shape().height, way.swaps_sides() ? kWidth : kHeight);
  for (std::uint32_t y = 0; y < kHeight; ++y) {
    for (std::uint32_t x = 0; x < kWidth; ++x) {
      std::array at{x, y};
      for (std::uint32_t i = 0; i < way.turn / 90; ++i) at = turned_once(at, i % 2 == 0 ? kHeight : kWidth);
      if (way.flip) at[0] = turned->shape().width - 1 - at[0];
      for (std::uint64_t frame = 0; frame < 3; ++frame) {
        ASSERT_EQ(value(*turned, 0, frame, at[0], at[1]), value(*data, 1, frame, x, y)) << way.turn << way.flip;
      }
    }
  }
}

TEST(TurnedFrames, every_pixel_of_every_type_lies_where_its_orientation_has_it) {
  for (const std::uint32_t turn : {0U, 90U, 180U, 270U}) {
    for (const bool flip : {false, true}) {
      for (const PixelType pixel : {PixelType::u8, PixelType::u16, PixelType::f32}) expect_turned(pixel, {turn, flip});
    }
  }
}

TEST(TurnedFrames, the_eight_orientations_are_all_different) {
  const auto data = make_pattern({8, 8, PixelType::u32}, 1, 1);
  std::set<std::vector<std::byte>> all;
  for (const std::uint32_t turn : {0U, 90U, 180U, 270U}) {
    for (const bool flip : {false, true}) {
      const auto turned = turned_frames(*data, 0, {turn, flip});
      all.emplace(turned->frame(0, 0), turned->frame(0, 0) + turned->shape().frame_bytes());
    }
  }
  EXPECT_EQ(all.size(), 8U);
}

TEST(TurnedFrames, flags_are_kept_and_other_turns_are_refused) {
  MemoryDataset data({4, 4, PixelType::u16}, 1, 2);
  data.set_flags(1, FrameRecord::dark);
  const auto turned = turned_frames(data, 0, {.turn = 90});
  EXPECT_EQ(turned->flags(0), 0U);
  EXPECT_EQ(turned->flags(1), static_cast<std::uint32_t>(FrameRecord::dark));
  EXPECT_THROW(turned_frames(data, 0, {.turn = 45}), ConfigError);
  EXPECT_THROW(turned_frames(data, 0, {.turn = 360}), ConfigError);
}

TEST(TurnedAxes, the_way_back_has_the_same_steps) {
  for (const std::uint32_t turn : {0U, 90U, 180U, 270U}) {
    for (const bool flip : {false, true}) {
      const TurnedAxes axes({turn, flip}, 5, 3);
      const std::int64_t x = axes.x + 4 * axes.column_x + 2 * axes.row_x,
                         y = axes.y + 4 * axes.column_y + 2 * axes.row_y;
      EXPECT_EQ((x - axes.x) * axes.column_x + (y - axes.y) * axes.column_y, 4);
      EXPECT_EQ((x - axes.x) * axes.row_x + (y - axes.y) * axes.row_y, 2);
    }
  }
}

}  // namespace
}  // namespace rashpa::dataset
