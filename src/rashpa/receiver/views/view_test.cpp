// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/views/view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace rashpa::receiver {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Pixel>
Seen seen(const std::vector<Pixel>& pixels, std::uint32_t width, PixelType type) {
  return {.pixels = reinterpret_cast<const std::byte*>(pixels.data()),
          .pitch = width,
          .width = width,
          .height = static_cast<std::uint32_t>(pixels.size()) / width,
          .pixel = type};
}

template <typename Out>
std::vector<Out> values(const std::vector<std::byte>& bytes) {
  std::vector<Out> found(bytes.size() / sizeof(Out));
  std::memcpy(found.data(), bytes.data(), bytes.size());
  return found;
}

TEST(View, pixel_by_pixel_it_is_the_image_itself) {
  const std::vector<std::uint16_t> pixels{0, 1, 2, 65534, 65535, 7};
  EXPECT_EQ(values<std::uint16_t>(view_of(seen(pixels, 3, PixelType::u16), {}, 1)), pixels);
}

TEST(View, a_block_is_its_largest_value_and_those_at_the_edges_are_smaller) {
  const std::vector<std::uint16_t> pixels{1, 2, 3,  //
                                          4, 0, 9,  //
                                          5, 6, 8};
  EXPECT_EQ(values<std::uint16_t>(view_of(seen(pixels, 3, PixelType::u16), {}, 2)),
            (std::vector<std::uint16_t>{4, 9, 6, 8}));
}

TEST(View, a_block_has_no_value_only_when_no_pixel_of_it_has_one) {
  const std::vector<std::uint16_t> pixels{65535, 65535, 65535, 65535,  //
                                          65535, 65535, 65535, 0};
  EXPECT_EQ(values<std::uint16_t>(view_of(seen(pixels, 4, PixelType::u16), {}, 2)),
            (std::vector<std::uint16_t>{65535, 0}));
}

TEST(View, eight_bits_become_sixteen_and_their_largest_is_none) {
  const std::vector<std::uint8_t> pixels{254, 255};
  EXPECT_EQ(values<std::uint16_t>(view_of(seen(pixels, 2, PixelType::u8), {}, 1)),
            (std::vector<std::uint16_t>{254, 65535}));
}

TEST(View, signed_values_may_be_negative_unless_the_detector_says_no_value_so) {
  const std::vector<std::int16_t> pixels{-5, std::numeric_limits<std::int16_t>::min(), 3};
  EXPECT_EQ(values<std::int16_t>(view_of(seen(pixels, 3, PixelType::i16), {}, 1)), pixels);
  const NoValue negative{.of_signed = NoValue::Signed::negative};
  EXPECT_EQ(values<std::int16_t>(view_of(seen(pixels, 3, PixelType::i16), negative, 1)),
            (std::vector<std::int16_t>{-32768, -32768, 3}));
}

TEST(View, wide_integers_and_floats_become_floats) {
  const std::vector<std::int32_t> wide{-1, 70000, std::numeric_limits<std::int32_t>::min()};
  const auto found = values<float>(view_of(seen(wide, 3, PixelType::i32), {}, 1));
  EXPECT_EQ(found[0], -1.F);
  EXPECT_EQ(found[1], 70000.F);
  EXPECT_TRUE(std::isnan(found[2]));
  const std::vector<float> floats{kNan, -2.5F, kNan, kNan};
  const auto blocks = values<float>(view_of(seen(floats, 4, PixelType::f32), {}, 2));
  EXPECT_EQ(blocks[0], -2.5F);
  EXPECT_TRUE(std::isnan(blocks[1]));
  const std::vector<std::uint32_t> counts{std::numeric_limits<std::uint32_t>::max(), 1U << 31U};
  const auto counted = values<float>(view_of(seen(counts, 2, PixelType::u32), {}, 1));
  EXPECT_TRUE(std::isnan(counted[0]));
  EXPECT_EQ(counted[1], 2147483648.F);
}

TEST(View, gaps_and_special_values_have_none_whatever_they_hold) {
  const std::vector<std::uint16_t> pixels{4000, 8, 9, 3};
  const std::vector<std::uint8_t> gaps{0, 1, 0, 0};
  const std::array<double, 2> special{4000.0, 9.0};
  Seen image = seen(pixels, 4, PixelType::u16);
  image.gaps = gaps.data();
  EXPECT_EQ(values<std::uint16_t>(view_of(image, {.special = special}, 1)),
            (std::vector<std::uint16_t>{65535, 65535, 65535, 3}));
}

TEST(View, a_part_of_an_image_steps_over_the_rest_of_its_rows) {
  const std::vector<std::uint16_t> pixels{0, 1, 2,  //
                                          3, 4, 5,  //
                                          6, 7, 8};
  Seen part = seen(pixels, 3, PixelType::u16);
  part.pixels += 4 * sizeof(std::uint16_t);
  part.width = part.height = 2;
  EXPECT_EQ(values<std::uint16_t>(view_of(part, {}, 1)), (std::vector<std::uint16_t>{4, 5, 7, 8}));
}

}  // namespace
}  // namespace rashpa::receiver
