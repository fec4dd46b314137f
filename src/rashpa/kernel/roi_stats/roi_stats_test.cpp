// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/roi_stats/roi_stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::roi_stats {
namespace {

Stats all_backends(const void* pixels, PixelFormat format, std::size_t count) {
  const Stats truth = stats_reference(pixels, format, count);
  on_every_target([&] { EXPECT_EQ(stats(pixels, format, count), truth); });
  return truth;
}

TEST(RoiStats, masked_pixels_are_left_out) {
  const std::vector<std::int32_t> pilatus{5, -1, -2, 7};
  EXPECT_EQ(all_backends(pilatus.data(), delivered(PixelType::i32), 4), (Stats{12, 5, 7, 2}));
  const std::vector<std::uint16_t> none(100, 65535);
  EXPECT_EQ(all_backends(none.data(), delivered(PixelType::u16), 100), Stats{});
  const std::vector<std::int16_t> noise{-3, INT16_MIN, 2};
  EXPECT_EQ(all_backends(noise.data(), {PixelType::i16, Masked::minimum}, 3), (Stats{-1, -3, 2, 2}));
}

TEST(RoiStats, all_numbers_of_a_plain_array_count) {
  std::mt19937 random(11);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
      std::vector<T> image(10'007);
      for (auto& pixel : image) pixel = static_cast<T>(random());
      image[5] = kLeast;
      image[9] = kMost;
      const Stats found = all_backends(image.data(), plain(type), image.size());
      EXPECT_EQ(found.least, std::int64_t{kLeast});
      EXPECT_EQ(found.most, std::int64_t{kMost});
      EXPECT_EQ(found.counted, image.size());
      std::fill(image.begin(), image.end(), kLeast);
      EXPECT_EQ(all_backends(image.data(), plain(type), 10'007),
                (Stats{std::int64_t{kLeast} * 10'007, kLeast, kLeast, 10'007}));
    });
  }
}

TEST(RoiStats, every_integer_type_is_as_the_reference) {
  std::mt19937 random(5);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      std::vector<T> image(600'011);
      for (auto& pixel : image) pixel = static_cast<T>(random());
      for (const std::size_t pixels : {std::size_t{0}, std::size_t{1}, std::size_t{37}, image.size()}) {
        all_backends(image.data(), delivered(type), pixels);
        all_backends(image.data() + pixels % 2, delivered(type, 99), pixels - pixels % 2);
      }
      std::fill(image.begin(), image.end(), static_cast<T>(photon_range(delivered(type)).most));
      EXPECT_EQ(all_backends(image.data(), delivered(type), image.size()).counted, image.size());
    });
  }
}

TEST(RoiStats, regions_are_read_or_refused_in_words) {
  EXPECT_EQ(parse("direct=1,2,3,4; halo = 0 , 0 ,10,10 ;"),
            (std::vector<NamedRegion>{{"direct", 1, 2, 3, 4}, {"halo", 0, 0, 10, 10}}));
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "there is none"},
      {"a=1,2,3", "'a=1,2,3' is no region; give name=x,y,width,height"},
      {"a=1,2,3,4,5", "and no more"},
      {"a=1,2,3,-4", "is no region"},
      {"a=1,2,99999999999,4", "is no region"},
      {"A=1,2,3,4", "does not begin with a name"},
      {"1,2,3,4", "does not begin with a name"},
      {"a=1,2,0,4", "a has no pixels"},
      {"a=1,2,3,4;a=1,2,3,4", "a is there twice"},
      {"a=1,1,1,1;b=1,1,1,1;c=1,1,1,1;d=1,1,1,1;e=1,1,1,1;f=1,1,1,1;g=1,1,1,1;h=1,1,1,1;i=1,1,1,1", "8 or fewer"}};
  for (const auto& [text, why] : wrong) {
    try {
      parse(text);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(static_cast<void>(step_of(Config{"a=90,0,11,1"})->fit({100, 10}, delivered(PixelType::u16))),
               ConfigError);
  EXPECT_THROW(static_cast<void>(step_of(Config{"a=0,4294967295,1,2"})->fit({100, 10}, delivered(PixelType::u16))),
               ConfigError);
}

/// Runs the pass as a unit does: blocks of pixels of several images, several workers.
TEST(RoiStats, the_pass_finds_what_lies_in_each_region) {
  constexpr std::uint32_t kWidth = 100, kHeight = 97, kPixels = kWidth * kHeight;
  std::mt19937 random(6);
  std::vector<std::vector<std::uint16_t>> images(3, std::vector<std::uint16_t>(kPixels));
  for (auto& image : images) {
    for (auto& pixel : image) pixel = random() % 50 == 0 ? 65535 : static_cast<std::uint16_t>(random() % 1000);
  }
  const Config config{"all=0,0,100,97;row=3,40,90,1;corner=99,96,1,1;box=20,30,41,43"};
  const auto step = step_of(config);
  EXPECT_EQ(step->declaration().makes[0].columns.size(), 20U);
  EXPECT_EQ(step->declaration().makes[0].columns[6].name, "row_mean");
  const auto pass = step->on_cpu(
      {.shape = {kWidth, kHeight}, .in = delivered(PixelType::u16), .stack = 3, .places = 3, .workers = 2});
  const std::byte* in[3];
  for (std::size_t i = 0; i < 3; ++i) in[i] = reinterpret_cast<const std::byte*>(images[i].data());
  for (int round = 0; round < 2; ++round) {
    pass->begin(3);
    pass->run(1, {0, 3, in, nullptr, nullptr, nullptr}, 4096, 8192);
    pass->run(0, {0, 3, in, nullptr, nullptr, nullptr}, 0, 4096);
    pass->run(0, {0, 3, in, nullptr, nullptr, nullptr}, 8192, kPixels);
    for (std::size_t i = 0; i < 3; ++i) {
      Scalar scalars[20];
      Finding finding{.scalars = scalars};
      pass->finish(i, finding);
      const auto regions = parse(config.regions);
      for (std::size_t r = 0; r < regions.size(); ++r) {
        Stats truth;
        for (std::uint32_t y = 0; y < regions[r].height; ++y) {
          const std::size_t at = (regions[r].y + y) * std::size_t{kWidth} + regions[r].x;
          truth.add(stats_reference(images[i].data() + at, delivered(PixelType::u16), regions[r].width));
        }
        SCOPED_TRACE(regions[r].name);
        EXPECT_EQ(scalars[r * 5].integer(), truth.sum);
        if (truth.counted > 0) {
          EXPECT_EQ(scalars[r * 5 + 1].real(), static_cast<double>(truth.sum) / static_cast<double>(truth.counted));
        } else {
          EXPECT_TRUE(std::isnan(scalars[r * 5 + 1].real()));
        }
        EXPECT_EQ(scalars[r * 5 + 2].integer(), truth.counted > 0 ? truth.least : INT64_MIN);
        EXPECT_EQ(scalars[r * 5 + 3].integer(), truth.counted > 0 ? truth.most : INT64_MIN);
        EXPECT_EQ(scalars[r * 5 + 4].count(), truth.counted);
      }
    }
  }
}

}  // namespace
}  // namespace rashpa::kernel::roi_stats
