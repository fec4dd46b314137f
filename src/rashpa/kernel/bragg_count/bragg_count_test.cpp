// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bragg_count/bragg_count.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/fill.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::bragg_count {
namespace {

constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};

/// Calls `check` with every backend: the reference and every instruction set of this machine.
template <class Check>
void for_each_backend(Check check) {
  check("reference", count_reference);
  on_every_target([&] { check("fast", count); });
}

struct Case {
  const char* what;
  std::vector<std::int16_t> photons;
  std::int16_t threshold;
  std::uint32_t bright;
};
const Case kCases[] = {
    {"nothing", {}, 1, 0},
    {"at the threshold counts", {4, 5, 6}, 5, 2},
    {"masked never counts", {kMaskedPhotons, 0, 1}, INT16_MIN, 2},
    {"saturated counts", {kSaturatedPhotons, 0}, 32767, 1},
    {"negative threshold", {-3, -2, -1}, -2, 2},
    {"a whole image", std::vector<std::int16_t>(100'000, 9), 9, 100'000},
    {"more than 16-bit counters hold", std::vector<std::int16_t>(3'000'001, 1), 1, 3'000'001},
};

TEST(BraggCount, cases_hold_on_every_backend) {
  for_each_backend([](const char* backend, auto count_with) {
    for (const Case& c : kCases) {
      EXPECT_EQ(count_with(c.photons.data(), kPhotons, c.photons.size(), c.threshold), c.bright)
          << backend << ": " << c.what;
    }
  });
}

TEST(BraggCount, random_images_count_as_the_reference_does) {
  std::mt19937 random(3);
  std::vector<std::int16_t> photons(5000);
  for (int round = 0; round < 50; ++round) {
    for (auto& p : photons) p = static_cast<std::int16_t>(random() % 8 == 0 ? random() : random() % 16);
    const std::size_t pixels = random() % photons.size();
    const auto threshold = static_cast<std::int16_t>(round == 0 ? INT16_MIN : random());
    const std::uint32_t truth = count_reference(photons.data(), kPhotons, pixels, threshold);
    for_each_backend([&](const char* backend, auto count_with) {
      EXPECT_EQ(count_with(photons.data(), kPhotons, pixels, threshold), truth) << backend;
    });
  }
}

/// Counts no masked pixel of a detector that delivers photons, in any type.
TEST(BraggCount, images_of_every_integer_type_count_as_the_reference_does) {
  std::mt19937 random(4);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      const PixelFormat format = delivered(type);
      const T masked = std::is_signed_v<T> ? static_cast<T>(-1) : std::numeric_limits<T>::max();
      const T largest = static_cast<T>(photon_range(format).most);
      const std::vector<T> known{0, 1, masked, largest, 7, masked, 6};
      for_each_backend([&](const char* backend, auto count_with) {
        EXPECT_EQ(count_with(known.data(), format, known.size(), 1), 4U) << backend;
        EXPECT_EQ(count_with(known.data(), format, known.size(), 7), 2U) << backend;
      });
      std::vector<T> image(100'003);  // more than 8-bit counters hold
      for (auto& pixel : image) pixel = static_cast<T>(random() % 4 == 0 ? random() : random() % 16);
      for (const std::int32_t threshold : {1, 3, 100, 127, 254, 255, 65535, 1 << 30}) {
        const std::uint32_t truth = count_reference(image.data(), format, image.size(), threshold);
        for_each_backend([&](const char* backend, auto count_with) {
          EXPECT_EQ(count_with(image.data(), format, image.size(), threshold), truth) << backend << threshold;
        });
      }
    });
  }
}

TEST(BraggCount, all_numbers_of_a_plain_array_count) {
  std::mt19937 random(11);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
      const std::vector<T> known{0, 1, kLeast, kMost, 7, kMost, 6};
      std::vector<T> image(100'003);
      for (auto& pixel : image) pixel = static_cast<T>(random());
      for_each_backend([&](const char* backend, auto count_with) {
        EXPECT_EQ(count_with(known.data(), plain(type), known.size(), 1), 5U) << backend;
        EXPECT_EQ(count_with(known.data(), plain(type), known.size(), static_cast<std::int32_t>(kLeast)), 7U)
            << backend;
        for (const std::int32_t threshold : {1, 100, 127, 255}) {
          const std::uint32_t truth = count_reference(image.data(), plain(type), image.size(), threshold);
          EXPECT_EQ(count_with(image.data(), plain(type), image.size(), threshold), truth) << backend << threshold;
        }
      });
    });
  }
}

TEST(BraggCount, special_values_of_a_detector_do_not_count) {
  std::mt19937 random(8);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      const PixelFormat format = delivered(type, 99);
      const T below = std::is_signed_v<T> ? static_cast<T>(-2) : std::numeric_limits<T>::max();
      const std::vector<T> known{0, 1, below, 98, 99, 100, 101, std::numeric_limits<T>::max()};
      std::vector<T> image(10'003);
      for (auto& pixel : image) pixel = static_cast<T>(random() % 4 == 0 ? random() : random() % 128);
      const std::uint32_t truth = count_reference(image.data(), format, image.size(), 2);
      for_each_backend([&](const char* backend, auto count_with) {
        EXPECT_EQ(count_with(known.data(), format, known.size(), 1), 3U) << backend;
        EXPECT_EQ(count_with(image.data(), format, image.size(), 2), truth) << backend;
      });
    });
  }
}

TEST(BraggCount, images_between_the_limits_are_kept) {
  const CountTap tap = *step_of(Config{5, 10, 20})->count_tap();
  EXPECT_EQ(tap.threshold, 5);
  EXPECT_EQ(tap.verdict(9), 1);
  EXPECT_EQ(tap.verdict(10), 0);
  EXPECT_EQ(tap.verdict(20), 0);
  EXPECT_EQ(tap.verdict(21), 2);
}

TEST(BraggCount, a_threshold_that_no_pixel_reaches_is_refused) {
  const auto step = step_of(Config{255, 0, 10});
  EXPECT_NO_THROW(static_cast<void>(step->fit({8, 8}, delivered(PixelType::u16))));
  EXPECT_THROW(static_cast<void>(step->fit({8, 8}, delivered(PixelType::u8))), ConfigError);
}

TEST(BraggCount, limits_that_keep_nothing_are_refused) {
  EXPECT_NO_THROW(check({5, 10, 10}));
  EXPECT_THROW(check({5, 11, 10}), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::bragg_count
