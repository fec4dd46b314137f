// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bad_pixels/bad_pixels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::bad_pixels {
namespace {

constexpr Shape kShape{90, 100};  // of more than one block of a CPU pass

Config every(std::uint32_t step) {
  Config config{.shape = kShape};
  for (std::uint32_t pixel = 0; pixel < kShape.pixels(); pixel += step) config.bad.push_back(pixel);
  return config;
}

/// The image that the step makes of one in which pixel p is p modulo 100, block by block.
template <typename T>
std::vector<T> made(const Config& config, PixelFormat format) {
  const auto step = step_of(config);
  EXPECT_EQ(step->fit(config.shape, format), format);
  const auto pass = step->on_cpu({.shape = config.shape, .made = config.shape, .in = format, .stack = 1, .places = 1});
  std::vector<T> in(config.shape.pixels()), out(in.size());
  for (std::size_t p = 0; p < in.size(); ++p) in[p] = static_cast<T>(p % 100);
  const auto* const from = reinterpret_cast<const std::byte*>(in.data());
  auto* const to = reinterpret_cast<std::byte*>(out.data());
  pass->begin(1);
  for (std::size_t first = 0; first < in.size(); first += 4096) {
    pass->run(0, {.count = 1, .in = &from, .out = &to}, first, std::min(first + 4096, in.size()));
  }
  return out;
}

TEST(BadPixels, hold_the_masked_value_of_every_type_and_no_other_does) {
  const Config config = every(7);
  const auto expect = [&]<typename T>(PixelFormat format, T masked) {
    const std::vector<T> found = made<T>(config, format);
    for (std::size_t p = 0; p < found.size(); ++p) {
      const T wanted = p % 7 == 0 ? masked : static_cast<T>(p % 100);
      ASSERT_EQ(std::memcmp(&found[p], &wanted, sizeof(T)), 0) << pixel_name(format.type) << ", pixel " << p;
    }
  };
  expect(delivered(PixelType::u8), std::uint8_t{255});
  expect(delivered(PixelType::u16), std::uint16_t{65535});
  expect(delivered(PixelType::u16, 1000), std::uint16_t{65535});
  expect(delivered(PixelType::u32), std::numeric_limits<std::uint32_t>::max());
  expect(delivered(PixelType::i16), std::numeric_limits<std::int16_t>::min());
  expect({PixelType::i16, Masked::minimum}, std::numeric_limits<std::int16_t>::min());
  expect(delivered(PixelType::i32), std::numeric_limits<std::int32_t>::min());
  expect(delivered(PixelType::f32), std::numeric_limits<float>::quiet_NaN());
}

TEST(BadPixels, are_no_counts_of_the_format_that_they_leave) {
  for (const PixelType type : photon_types()) {
    for (const std::int64_t largest : {kNoLargestCount, std::int64_t{90}}) {
      const PixelFormat format = delivered(type, largest);
      const PhotonRange counts = photon_range(format);
      const auto value = with_type(
          type, [&]<typename T>(T) { return static_cast<std::int64_t>(static_cast<T>(masked_bits(format))); });
      EXPECT_TRUE(value < counts.least || value > counts.most) << pixel_name(type);
    }
  }
}

TEST(BadPixels, of_a_strip_are_those_of_its_rows) {
  const Config config = every(13);
  const std::vector<std::uint16_t> whole = made<std::uint16_t>(config, delivered(PixelType::u16));
  const Rows rows{41, 33};
  const auto strip = step_of(config)->strip(kShape, rows);
  ASSERT_TRUE(strip);
  EXPECT_THAT(strip->bounds, testing::IsEmpty());
  const Shape shape{kShape.width, rows.count};
  const auto pass =
      strip->step->on_cpu({.shape = shape, .made = shape, .in = delivered(PixelType::u16), .stack = 1, .places = 1});
  std::vector<std::uint16_t> in(shape.pixels()), out(in.size());
  for (std::size_t p = 0; p < in.size(); ++p) in[p] = static_cast<std::uint16_t>((p + rows.first * kShape.width) % 100);
  const auto* const from = reinterpret_cast<const std::byte*>(in.data());
  auto* const to = reinterpret_cast<std::byte*>(out.data());
  pass->run(0, {.count = 1, .in = &from, .out = &to}, 0, in.size());
  EXPECT_TRUE(std::equal(out.begin(), out.end(), whole.begin() + rows.first * kShape.width));
}

TEST(BadPixels, that_cannot_be_are_refused) {
  const auto refusal = [](const auto& work) -> std::string {
    try {
      work();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([] {
                step_of({.shape = {3, 2}, .bad = {6}});
              }),
              testing::HasSubstr("pixel 6 lies outside of 3 × 2"));
  EXPECT_THAT(refusal([] {
                step_of({.shape = {3, 2}, .bad = {4, 4}});
              }),
              testing::HasSubstr("not behind the one before"));
  EXPECT_THAT(refusal([] {
                static_cast<void>(step_of({.shape = {3, 2}})->fit({2, 3}, delivered(PixelType::u16)));
              }),
              testing::HasSubstr("its mask has 3 × 2 pixels, and the images have 2 × 3"));
  EXPECT_THAT(refusal([] {
                static_cast<void>(step_of({.shape = {3, 2}})->fit({3, 2}, plain(PixelType::u16)));
              }),
              testing::HasSubstr("every value of these pixels counts"));
}

}  // namespace
}  // namespace rashpa::kernel::bad_pixels
