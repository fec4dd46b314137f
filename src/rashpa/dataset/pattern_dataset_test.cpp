// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/pattern_dataset.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "rashpa/core/error.hpp"

namespace rashpa::dataset {
namespace {

template <typename T>
void expect_values(PixelType pixel, T largest) {
  const auto data = make_pattern({20, 9, pixel}, 2, 3);
  for (std::uint32_t module = 0; module < 2; ++module) {
    for (std::uint64_t frame = 0; frame < 3; ++frame) {
      for (std::uint32_t i = 0; i < 180; ++i) {
        T value{};
        std::memcpy(&value, data->frame(module, frame) + i * sizeof(T), sizeof(T));
        ASSERT_EQ(value, static_cast<T>(pattern_value(pixel, module, frame, i / 20, i % 20)));
        ASSERT_GE(value, T{1});
        ASSERT_LT(value, largest);
      }
    }
  }
}

TEST(Pattern, every_pixel_type_holds_the_value_that_the_function_gives) {
  expect_values<std::uint8_t>(PixelType::u8, 0xFF);
  expect_values<std::uint16_t>(PixelType::u16, 0xFFFF);
  expect_values<std::uint32_t>(PixelType::u32, 0xFFFFFFFF);
  expect_values<std::int16_t>(PixelType::i16, 0x7FFF);
  expect_values<std::int32_t>(PixelType::i32, 0x7FFFFFFF);
  expect_values<float>(PixelType::f32, 16777216.0F);
}

TEST(Pattern, value_depends_on_module_frame_row_and_column) {
  const std::set<std::uint32_t> values{
      pattern_value(PixelType::u32, 0, 0, 0, 0), pattern_value(PixelType::u32, 1, 0, 0, 0),
      pattern_value(PixelType::u32, 0, 1, 0, 0), pattern_value(PixelType::u32, 0, 0, 1, 0),
      pattern_value(PixelType::u32, 0, 0, 0, 1)};
  EXPECT_EQ(values.size(), 5U);
}

// rashpa.sim.pattern computes the same numbers; its test holds the same list.
TEST(Pattern, known_values_stay_as_they_are) {
  EXPECT_EQ(pattern_value(PixelType::u16, 0, 0, 0, 0), 9091U);
  EXPECT_EQ(pattern_value(PixelType::u16, 1, 2, 3, 4), 4478U);
  EXPECT_EQ(pattern_value(PixelType::u32, 7, 1000000, 511, 1023), 1062029588U);
}

TEST(MemoryDataset, impossible_shapes_are_refused) {
  EXPECT_THROW(make_pattern({0, 4, PixelType::u8}, 1, 1), ConfigError);
  EXPECT_THROW(make_pattern({4, 70000, PixelType::u8}, 1, 1), ConfigError);
  EXPECT_THROW(make_pattern({4, 4, PixelType::u8}, 0, 1), ConfigError);
  EXPECT_THROW(make_pattern({4, 4, PixelType::u8}, 1, 0), ConfigError);
}

TEST(MemoryDataset, more_than_the_memory_is_a_resource_error_with_the_size) {
  EXPECT_THROW(make_pattern({65536, 65536, PixelType::u32}, 4096, 1ULL << 60), ResourceError);
  try {
    make_pattern({65536, 65536, PixelType::u32}, 64, 100);
    FAIL() << "100 TiB were granted";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("use fewer frames"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rashpa::dataset
