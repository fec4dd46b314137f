// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/total_counts/total_counts.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::total_counts {
namespace {

/// Every instruction set of this machine against the reference, which is returned.
Totals all_backends(const void* image, PixelFormat format, std::size_t pixels) {
  const Totals truth = total_reference(image, format, pixels);
  on_every_target([&] { EXPECT_EQ(total(image, format, pixels), truth); });
  return truth;
}

TEST(TotalCounts, masked_pixels_are_counted_and_not_added) {
  const std::vector<std::uint16_t> eiger{1, 65535, 3, 65534};
  EXPECT_EQ(all_backends(eiger.data(), delivered(PixelType::u16), 4), (Totals{65538, 1}));
  const std::vector<std::int32_t> pilatus{5, -1, -2, 7};
  EXPECT_EQ(all_backends(pilatus.data(), delivered(PixelType::i32), 4), (Totals{12, 2}));
  const std::vector<std::int16_t> converted{5, -1, INT16_MIN, 7};
  EXPECT_EQ(all_backends(converted.data(), {PixelType::i16, Masked::minimum}, 4), (Totals{11, 1}))
      << "small negative values of a conversion are noise";
}

TEST(TotalCounts, all_numbers_of_a_plain_array_count) {
  std::mt19937 random(11);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
      const std::vector<T> known{kLeast, kMost, 3, static_cast<T>(-1)};
      const std::int64_t sum = std::int64_t{kLeast} + kMost + 3 + std::int64_t{static_cast<T>(-1)};
      EXPECT_EQ(all_backends(known.data(), plain(type), 4), (Totals{sum, 0}));
      std::vector<T> image(10'007);
      for (auto& pixel : image) pixel = static_cast<T>(random());
      EXPECT_EQ(all_backends(image.data(), plain(type), image.size()).masked, 0U);
      std::fill(image.begin(), image.end(), kLeast);
      EXPECT_EQ(all_backends(image.data(), plain(type), image.size()).counts, std::int64_t{kLeast} * 10'007);
    });
  }
}

TEST(TotalCounts, special_values_of_a_detector_are_masked) {
  const std::vector<std::int32_t> pilatus{5, -1, -2, 1'048'574, 1'048'575, 7'000'000};
  EXPECT_EQ(all_backends(pilatus.data(), delivered(PixelType::i32, 1'048'574), 6), (Totals{1'048'579, 4}));
  const std::vector<std::uint32_t> eiger{5, 65533, 65534, 65535, UINT32_MAX};
  EXPECT_EQ(all_backends(eiger.data(), delivered(PixelType::u32, 65533), 5), (Totals{65538, 3}));
  std::mt19937 random(7);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      std::vector<T> image(10'007);
      for (auto& pixel : image) pixel = static_cast<T>(random());
      all_backends(image.data(), delivered(type, 99), image.size());
    });
  }
}

TEST(TotalCounts, images_of_every_integer_type_add_up_as_the_reference_does) {
  std::mt19937 random(5);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      std::vector<T> image(300'007);
      for (auto& pixel : image) pixel = static_cast<T>(random());
      for (const std::size_t pixels : {std::size_t{0}, std::size_t{1}, std::size_t{37}, image.size()}) {
        all_backends(image.data(), delivered(type), pixels);
      }
      std::fill(image.begin(), image.end(), static_cast<T>(photon_range(delivered(type)).most));
      EXPECT_EQ(all_backends(image.data(), delivered(type), image.size()).masked, 0U) << "no lane overflows";
    });
  }
}

/// Runs the pass as a unit does: blocks of pixels of several images, several workers.
TEST(TotalCounts, the_pass_adds_up_what_its_workers_have_found) {
  constexpr std::size_t kPixels = 10'000;
  std::mt19937 random(6);
  std::vector<std::vector<std::uint32_t>> images(3, std::vector<std::uint32_t>(kPixels));
  for (auto& image : images) {
    for (auto& pixel : image) pixel = random() % 50 == 0 ? UINT32_MAX : random() % 8;
  }
  std::fill_n(images[1].begin(), 2000, UINT32_MAX);
  const auto step = step_of(Config{20'000, 1'000'000, 0.1});
  const auto pass = step->on_cpu({.shape = {100, 100}, .in = delivered(PixelType::u32), .stack = 4, .workers = 2});
  std::vector<const std::byte*> in;
  for (const auto& image : images) in.push_back(reinterpret_cast<const std::byte*>(image.data()));
  for (int round = 0; round < 2; ++round) {
    pass->begin(3);
    const Items items{.count = 3, .in = in.data()};
    pass->run(1, items, 0, 4096);
    pass->run(0, items, 4096, 8192);
    pass->run(1, items, 8192, kPixels);
    for (std::size_t item = 0; item < 3; ++item) {
      const Totals truth = total_reference(images[item].data(), delivered(PixelType::u32), kPixels);
      Scalar scalars[2];
      Finding finding{.scalars = scalars};
      pass->finish(item, finding);
      EXPECT_EQ(scalars[0].integer(), truth.counts);
      EXPECT_EQ(scalars[1].count(), truth.masked);
      EXPECT_EQ(finding.verdict, item == 1 ? 3 : 0);
    }
  }
}

TEST(TotalCounts, verdicts_follow_the_limits) {
  const Limits limits = limits_of({10, 20, 0.25}, 100);
  EXPECT_EQ(limits.verdict({9, 0}), 1);
  EXPECT_EQ(limits.verdict({10, 25}), 0);
  EXPECT_EQ(limits.verdict({20, 0}), 0);
  EXPECT_EQ(limits.verdict({21, 0}), 2);
  EXPECT_EQ(limits.verdict({15, 26}), 3);
  EXPECT_THROW(check({5, 4, 1}), ConfigError);
}

TEST(TotalCounts, a_minimum_of_zero_is_none) {
  const Limits limits = limits_of({0, 20, 1}, 100);
  EXPECT_EQ(limits.verdict({-1, 0}), 0) << "noise around zero photons";
  EXPECT_EQ(limits.verdict({0, 0}), 0);
  EXPECT_EQ(limits.verdict({21, 0}), 2);
  EXPECT_EQ(limits_of({1, 20, 1}, 100).verdict({0, 0}), 1);
}

}  // namespace
}  // namespace rashpa::kernel::total_counts
