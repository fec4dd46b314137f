// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/accumulate/accumulate.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/accumulate/parts.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::accumulate {
namespace {

constexpr Config kAll{.variance = true};

template <typename T>
std::vector<const std::byte*> pointers(const std::vector<std::vector<T>>& images) {
  std::vector<const std::byte*> all;
  for (const auto& image : images) all.push_back(reinterpret_cast<const std::byte*>(image.data()));
  return all;
}

struct Written {
  explicit Written(const Sums& sums)
      : sum(sums.counted.size()), mean(sum.size()), max(sum.size()), variance(sum.size()), counted(sum.size()) {
    write(sums, {sum.data(), mean.data(), max.data(), variance.data(), counted.data()}, 0, sum.size());
  }
  std::vector<std::int64_t> sum;
  std::vector<double> mean;
  std::vector<std::int32_t> max;
  std::vector<double> variance;
  std::vector<std::uint32_t> counted;
};

void expect_equal(const Sums& sums, const Sums& truth) {
  EXPECT_EQ(sums.counted, truth.counted);
  EXPECT_EQ(sums.sum, truth.sum);
  EXPECT_EQ(sums.max, truth.max);
  for (int part = 0; part < 3; ++part) EXPECT_EQ(sums.squares[part], truth.squares[part]) << part;
}

TEST(Accumulate, masked_pixels_are_counted_pixel_by_pixel) {
  const std::vector<std::vector<std::uint16_t>> images{
      {1, 65535, 3, 65535}, {2, 65534, 65535, 65535}, {6, 0, 9, 65535}};
  Sums sums(kAll, delivered(PixelType::u16), 4);
  add(sums, pointers(images).data(), images.size(), 0, 4);
  const Written found(sums);
  EXPECT_EQ(found.counted, (std::vector<std::uint32_t>{3, 2, 2, 0}));
  EXPECT_EQ(found.sum, (std::vector<std::int64_t>{9, 65534, 12, 0}));
  EXPECT_EQ(found.max, (std::vector<std::int32_t>{6, 65534, 9, -1})) << "uint32: the largest value says masked";
  EXPECT_EQ(found.mean[0], 3.0);
  EXPECT_EQ(found.mean[1], 32767.0);
  EXPECT_TRUE(std::isnan(found.mean[3]));
  EXPECT_EQ(found.variance[0], 7.0);
  EXPECT_EQ(found.variance[2], 18.0);
  EXPECT_TRUE(std::isnan(found.variance[3]));
}

TEST(Accumulate, the_variance_of_large_values_is_exact) {
  // Doubles that are squared and subtracted would give 0, or nonsense.
  const std::uint32_t large = 4'294'967'290U;
  std::vector<std::vector<std::uint32_t>> images;
  for (int i = 0; i < 1000; ++i) images.push_back({large + (i % 2 == 0 ? 0U : 2U)});
  Sums sums(kAll, delivered(PixelType::u32), 1);
  add(sums, pointers(images).data(), images.size(), 0, 1);
  const Written found(sums);
  EXPECT_DOUBLE_EQ(found.variance[0], 1000.0 / 999.0);
  EXPECT_DOUBLE_EQ(found.mean[0], large + 1.0);
  EXPECT_EQ(static_cast<std::uint32_t>(found.max[0]), large + 2U);
}

TEST(Accumulate, all_numbers_of_a_plain_array_are_added) {
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
      const std::vector<std::vector<T>> images(2, std::vector<T>{kLeast, kMost, 1});
      on_every_target([&] {
        Sums sums(kAll, plain(type), 3);
        add(sums, pointers(images).data(), images.size(), 0, 3);
        EXPECT_EQ(sums.counted, (std::vector<std::uint32_t>{2, 2, 2}));
        EXPECT_EQ(sums.sum, (std::vector<std::int64_t>{2 * std::int64_t{kLeast}, 2 * std::int64_t{kMost}, 2}));
        const Written found(sums);
        EXPECT_EQ(found.variance, (std::vector<double>{0, 0, 0}));
        EXPECT_EQ(static_cast<T>(found.max[0]), kLeast);
        EXPECT_EQ(static_cast<T>(found.max[1]), kMost);
      });
    });
  }
}

TEST(Accumulate, integers_of_every_type_are_the_reference_s) {
  std::mt19937 random(3);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      for (const PixelFormat format : {delivered(type), delivered(type, 90), plain(type),
                                       PixelFormat{type, std::is_signed_v<T> ? Masked::minimum : Masked::maximum}}) {
        for (const std::size_t pixels : {std::size_t{1}, std::size_t{37}, std::size_t{1500}}) {
          std::vector<std::vector<T>> images(19, std::vector<T>(pixels));
          for (auto& image : images) {
            for (auto& pixel : image) {
              pixel = random() % 4 == 0 ? static_cast<T>(random() % 100) : static_cast<T>(random());
            }
          }
          images[3].assign(pixels, std::numeric_limits<T>::max());
          images[4].assign(pixels, std::numeric_limits<T>::min());
          for (const Config& config : {kAll, Config{.max = false, .variance = true}, Config{}}) {
            on_every_target([&] {
              SCOPED_TRACE(pixel_name(type));
              Sums truth(config, format, pixels), sums(config, format, pixels);
              for (const std::size_t count : {std::size_t{1}, std::size_t{8}, std::size_t{19}}) {
                add_reference(truth, pointers(images).data(), count, 0, pixels);
                add(sums, pointers(images).data(), count, 0, pixels / 3);
                add(sums, pointers(images).data(), count, pixels / 3, pixels);
              }
              expect_equal(sums, truth);
            });
          }
        }
      }
    });
  }
}

TEST(Accumulate, reals_are_the_reference_s_within_rounding) {
  std::mt19937 random(4);
  std::normal_distribution<float> noise(1e6F, 3.0F);
  std::vector<std::vector<float>> images(41, std::vector<float>(1003));
  for (auto& image : images) {
    for (auto& pixel : image) pixel = random() % 7 == 0 ? std::nanf("") : noise(random);
  }
  for (auto& image : images) image[5] = std::nanf("");
  on_every_target([&] {
    Sums truth(kAll, delivered(PixelType::f32), 1003), sums(kAll, delivered(PixelType::f32), 1003);
    for (int round = 0; round < 3; ++round) {
      add_reference(truth, pointers(images).data(), images.size(), 0, 1003);
      add(sums, pointers(images).data(), images.size(), 0, 1003);
    }
    EXPECT_EQ(sums.counted, truth.counted);
    EXPECT_EQ(sums.real_max, truth.real_max);
    const Written found(sums), wanted(truth);
    for (std::size_t p = 0; p < 1003; ++p) {
      if (p == 5) continue;
      ASSERT_NEAR(sums.real_sum[p], truth.real_sum[p], 1e-12 * truth.real_sum[p]) << p;
      ASSERT_NEAR(found.mean[p], wanted.mean[p], 1e-12 * wanted.mean[p]) << p;
      ASSERT_NEAR(found.variance[p], wanted.variance[p], 1e-9 * wanted.variance[p]) << p;
    }
    EXPECT_TRUE(std::isnan(found.mean[5]) && std::isnan(found.variance[5]));
  });
}

TEST(Accumulate, the_pass_writes_a_window_and_starts_anew) {
  constexpr std::size_t kPixels = 9000;
  const std::vector<std::vector<std::int16_t>> images(5, std::vector<std::int16_t>(kPixels, 3));
  const auto step = step_of(Config{.sum = false, .max = false, .window = 10});
  const PixelFormat format{PixelType::i16, Masked::minimum};
  const auto made = step->accumulation({100, 90}, format);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->window, 10U);
  EXPECT_EQ(made->shape, (std::vector<std::uint32_t>{90, 100}));
  ASSERT_EQ(made->quantities.size(), 2U);
  EXPECT_EQ(made->quantities[0].name, "mean");
  EXPECT_EQ(made->quantities[1].name, "counted");
  const auto pass = step->on_cpu({.shape = {100, 90}, .in = format, .stack = 5, .places = 5, .workers = 2});
  for (int window = 0; window < 2; ++window) {
    pass->begin(5);
    const auto all = pointers(images);
    const Items items{0, 5, all.data(), nullptr, nullptr, nullptr};
    pass->run(0, items, 0, 4096);
    pass->run(1, items, 4096, kPixels);
    std::vector<double> mean(kPixels);
    std::vector<std::uint32_t> counted(kPixels);
    const AccumulatedArrays to{reinterpret_cast<std::byte*>(mean.data()), reinterpret_cast<std::byte*>(counted.data())};
    pass->conclude(1, to, 4096, kPixels);
    pass->conclude(0, to, 0, 4096);
    EXPECT_EQ(mean, std::vector<double>(kPixels, 3.0));
    EXPECT_EQ(counted, std::vector<std::uint32_t>(kPixels, 5)) << "of this window only";
  }
}

/// The arrays of an accumulation, in memory of their own.
struct Room {
  Room(const std::vector<Quantity>& quantities, std::size_t pixels) {
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      memory.emplace_back(pixels * bytes_of(quantities[q].type) / 4 + 1, 0xEEEEEEEE);
      to[q] = reinterpret_cast<std::byte*>(memory.back().data());
    }
  }
  std::vector<std::vector<std::uint32_t>> memory;
  AccumulatedArrays to{};
};

/// Images dealt to three, whose parts are joined; the last of them may have none.
template <typename T>
void expect_joined(const Config& config, PixelFormat format, const std::vector<std::vector<T>>& images, double reals) {
  const Shape shape{static_cast<std::uint32_t>(images[0].size()), 1};
  const auto step = step_of(config);
  const auto join = dynamic_cast<const Joinable&>(*step).join(shape, format);
  EXPECT_EQ(join->part()->accumulation(shape, format)->quantities, part_quantities(config, format));
  const std::vector<Quantity> quantities = step->accumulation(shape, format)->quantities;
  Sums all(config, format, shape.pixels());
  std::vector<Sums> own(3, all);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto* const image = reinterpret_cast<const std::byte*>(images[i].data());
    add_reference(all, &image, 1, 0, shape.pixels());
    add_reference(own[i % 3], &image, 1, 0, shape.pixels());
  }
  std::vector<Room> parts;
  std::vector<AccumulatedArrays> given;
  for (const Sums& sums : own) {
    parts.emplace_back(part_quantities(config, format), shape.pixels());
    write_parts(sums, parts.back().to, 0, shape.pixels());
    given.push_back(parts.back().to);
  }
  const Room found(quantities, shape.pixels()), truth(quantities, shape.pixels());
  write(all, arrays_of(config, truth.to), 0, shape.pixels());
  for (int round = 0; round < 2; ++round) join->join(given, found.to);
  for (std::size_t q = 0; q < quantities.size(); ++q) {
    SCOPED_TRACE(quantities[q].name);
    if (quantities[q].type != Quantity::Type::f64 || reals == 0) {
      EXPECT_EQ(found.memory[q], truth.memory[q]);
      continue;
    }
    const auto* const values = reinterpret_cast<const double*>(found.to[q]);
    const auto* const wanted = reinterpret_cast<const double*>(truth.to[q]);
    for (std::size_t p = 0; p < shape.pixels(); ++p) {
      ASSERT_EQ(std::isnan(values[p]), std::isnan(wanted[p])) << p;
      if (std::isnan(wanted[p])) continue;
      ASSERT_NEAR(values[p], wanted[p], reals * std::abs(wanted[p])) << p;
    }
  }
}

TEST(Accumulate, parts_of_several_become_what_one_makes_of_all) {
  std::mt19937 random(5);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      for (const PixelFormat format :
           {delivered(type), plain(type), PixelFormat{type, std::is_signed_v<T> ? Masked::minimum : Masked::maximum}}) {
        for (const std::size_t count : {std::size_t{2}, std::size_t{10}}) {
          std::vector<std::vector<T>> images(count, std::vector<T>(5000));
          for (auto& image : images) {
            for (auto& pixel : image) pixel = static_cast<T>(random() % 3 == 0 ? random() : random() % 90);
          }
          for (auto& image : images)
            image[7] =
                std::numeric_limits<T>::is_signed ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
          for (const Config& config : {kAll, Config{}, Config{.sum = false, .max = false}}) {
            expect_joined(config, format, images, 0);
          }
        }
      }
    });
  }
}

TEST(Accumulate, parts_of_reals_become_what_one_makes_of_all_within_rounding) {
  std::mt19937 random(6);
  std::normal_distribution<float> noise(1e6F, 3.0F);
  std::vector<std::vector<float>> images(41, std::vector<float>(5000));
  for (auto& image : images) {
    for (auto& pixel : image) pixel = random() % 7 == 0 ? std::nanf("") : noise(random);
    image[5] = std::nanf("");
  }
  expect_joined(kAll, delivered(PixelType::f32), images, 1e-9);
  expect_joined(Config{}, delivered(PixelType::f32), images, 1e-12);
}

TEST(Accumulate, nothing_asked_for_is_refused) {
  EXPECT_THROW(step_of(Config{.sum = false, .mean = false, .max = false}), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::accumulate
