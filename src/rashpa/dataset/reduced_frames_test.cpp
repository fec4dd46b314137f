// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/reduced_frames.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/dataset/turned_frames.hpp"

namespace rashpa::dataset {
namespace {

template <typename T>
PixelType type_of();
template <>
PixelType type_of<std::uint16_t>() {
  return PixelType::u16;
}
template <>
PixelType type_of<std::uint32_t>() {
  return PixelType::u32;
}
template <>
PixelType type_of<std::int16_t>() {
  return PixelType::i16;
}
template <>
PixelType type_of<float>() {
  return PixelType::f32;
}

template <typename T>
std::unique_ptr<MemoryDataset> of_pixels(std::uint32_t width, const std::vector<T>& pixels) {
  const auto height = static_cast<std::uint32_t>(pixels.size()) / width;
  auto data = std::make_unique<MemoryDataset>(ModuleShape{width, height, type_of<T>()}, 1, 1);
  std::memcpy(data->writable(0, 0).data(), pixels.data(), pixels.size() * sizeof(T));
  return data;
}

template <typename T>
std::vector<T> pixels_of(const Dataset& data, std::uint64_t frame = 0) {
  std::vector<T> pixels(data.shape().frame_bytes() / sizeof(T));
  std::memcpy(pixels.data(), data.frame(0, frame), data.shape().frame_bytes());
  return pixels;
}

template <typename T>
std::vector<T> reduced(std::uint32_t width, const std::vector<T>& pixels, const Reduction& reduction) {
  const auto data = of_pixels(width, pixels);
  const ModuleShape shape = data->shape();
  return pixels_of<T>(*reduced_frames(*data, 0, {}, {0, 0, shape.width, shape.height}, reduction));
}

template <typename T>
std::shared_ptr<const std::vector<std::byte>> offset_of(const std::vector<T>& pixels) {
  const auto bytes = std::as_bytes(std::span(pixels));
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

/// Counts of unsigned 16-bit pixels: 65535 marks a pixel without a count, and a sum that is too large.
Reduction of_u16() { return {.least = 0, .most = 65534, .saturated = 65535}; }

using Words = std::vector<std::uint16_t>;

TEST(ReducedFrames, a_sum_has_all_pixels_of_its_bin) {
  Reduction reduction = of_u16();
  reduction.bin_x = 3, reduction.bin_y = 2;
  EXPECT_EQ(reduced(6, Words{1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60}, reduction), (Words{21, 210}));
}

TEST(ReducedFrames, a_sum_above_the_largest_count_has_the_saturated_value) {
  Reduction reduction = of_u16();
  reduction.bin_x = 2;
  EXPECT_EQ(reduced(4, Words{65534, 0, 65534, 1}, reduction), (Words{65534, 65535}));
  reduction.most = 60000, reduction.saturated = 65534;
  EXPECT_EQ(reduced(4, Words{30000, 30000, 30000, 30001}, reduction), (Words{60000, 65534}));
}

TEST(ReducedFrames, a_mean_is_rounded_to_the_nearest_and_halves_away_from_zero) {
  Reduction reduction = of_u16();
  reduction.bin_x = 2, reduction.bin_by = BinValue::mean;
  EXPECT_EQ(reduced(6, Words{1, 2, 2, 2, 65534, 65533}, reduction), (Words{2, 2, 65534}));
  Reduction photons{.bin_x = 4, .bin_by = BinValue::mean, .least = -32767, .most = 32767, .saturated = 32767};
  EXPECT_EQ(reduced(8, std::vector<std::int16_t>{-1, -1, 0, 0, -1, 0, 0, 0}, photons),
            (std::vector<std::int16_t>{-1, 0}));
}

TEST(ReducedFrames, a_pixel_without_a_count_marks_a_sum_and_is_left_out_of_a_mean) {
  Reduction reduction{.bin_x = 2, .bin_y = 2, .least = 0, .most = 65532, .saturated = 65533};
  const Words pixels{1, 65535, 65533, 7, 65535, 65534, 4, 5, 6, 65533, 65534, 65535};
  EXPECT_EQ(reduced(6, pixels, reduction), (Words{65535, 65533, 65535}));
  reduction.bin_by = BinValue::mean;
  EXPECT_EQ(reduced(6, pixels, reduction), (Words{3, 65533, 65535}));
}

TEST(ReducedFrames, an_offset_is_subtracted_before_the_threshold_and_never_makes_a_marked_pixel) {
  Reduction reduction = of_u16();
  reduction.offset = offset_of(Words{10, 20, 30, 40});
  EXPECT_EQ(reduced(4, Words{15, 10, 65535, 50}, reduction), (Words{5, 0, 65535, 10}));
  reduction.threshold = 5.5;
  EXPECT_EQ(reduced(4, Words{15, 10, 65535, 50}, reduction), (Words{0, 0, 65535, 10}));
}

TEST(ReducedFrames, float_pixels_mark_sums_by_not_a_number_and_leave_it_out_of_means) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  Reduction reduction{.bin_x = 2, .threshold = 1};
  const std::vector<float> pixels{1.5F, 0.5F, none, 3.0F, none, none};
  const std::vector<float> sums = reduced(6, pixels, reduction);
  EXPECT_EQ(sums[0], 1.5F);
  EXPECT_TRUE(std::isnan(sums[1]) && std::isnan(sums[2]));
  reduction.bin_by = BinValue::mean;
  const std::vector<float> means = reduced(6, pixels, reduction);
  EXPECT_EQ(means[0], 0.75F);
  EXPECT_EQ(means[1], 3.0F);
  EXPECT_TRUE(std::isnan(means[2]));
}

TEST(ReducedFrames, sums_of_64_largest_pixels_do_not_overflow) {
  const Reduction reduction{
      .bin_x = 8, .bin_y = 8, .bin_by = BinValue::mean, .least = 0, .most = 4294967294, .saturated = 4294967295};
  EXPECT_EQ(reduced(8, std::vector<std::uint32_t>(64, 4294967294U), reduction),
            std::vector<std::uint32_t>{4294967294U});
}

TEST(ReducedFrames, a_region_is_that_of_the_turned_module_and_so_is_the_offset) {
  const auto data = make_pattern({12, 8, PixelType::u16}, 2, 3);
  const Orientation way{90, true};
  const Region region{2, 4, 6, 8};  // of 8 × 12
  std::vector<std::uint16_t> offset(96);
  std::memcpy(offset.data(), data->frame(1, 2), 192);
  const Reduction sums{.bin_x = 2, .bin_y = 4, .least = 0, .most = 65534, .saturated = 65535};
  const auto turned = turned_frames(*data, 1, way);
  const auto found = reduced_frames(*data, 1, way, region, sums);
  ASSERT_EQ(found->shape().width, 3U);
  ASSERT_EQ(found->shape().height, 2U);
  for (std::uint64_t frame = 0; frame < 3; ++frame) {
    const auto whole = pixels_of<std::uint16_t>(*turned, frame), bins = pixels_of<std::uint16_t>(*found, frame);
    for (std::uint32_t bin = 0; bin < 6; ++bin) {
      std::uint32_t sum = 0;
      for (std::uint32_t i = 0; i < 8; ++i) sum += whole[(4 + bin / 3 * 4 + i / 2) * 8 + 2 + bin % 3 * 2 + i % 2];
      ASSERT_EQ(bins[bin], std::min(sum, 65535U));
    }
  }
  Reduction dark = sums;
  dark.offset = offset_of(offset);
  const auto none = pixels_of<std::uint16_t>(*reduced_frames(*data, 1, way, region, dark), 2);
  EXPECT_EQ(none, Words(6, 0));
}

TEST(ReducedFrames, flags_of_frames_stay) {
  auto data = of_pixels(4, Words{1, 2, 3, 4});
  data->set_flags(0, FrameRecord::dark);
  EXPECT_EQ(reduced_frames(*data, 0, {}, {0, 0, 4, 1}, {.bin_x = 2})->flags(0), FrameRecord::dark);
}

TEST(ReducedFrames, bins_that_do_not_divide_the_region_and_offsets_of_another_size_are_refused) {
  const auto data = of_pixels(6, Words(12));
  const auto make = [&](const Reduction& reduction) { return reduced_frames(*data, 0, {}, {0, 0, 6, 2}, reduction); };
  EXPECT_THROW(static_cast<void>(make({.bin_x = 4})), ConfigError);
  EXPECT_THROW(static_cast<void>(make({.bin_x = 9})), ConfigError);
  EXPECT_THROW(static_cast<void>(make({.bin_y = 0})), ConfigError);
  EXPECT_THROW(static_cast<void>(make({.offset = offset_of(Words(6))})), ConfigError);
}

}  // namespace
}  // namespace rashpa::dataset
