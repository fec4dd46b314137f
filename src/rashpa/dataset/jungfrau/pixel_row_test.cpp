// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/jungfrau/pixel_row.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/dataset/random.hpp"

namespace rashpa::dataset {
namespace {

using Means = std::array<float, kJungfrauWidth>;

struct Drawn {
  PixelRow row{};
  Columns left{};
};

Drawn drawn(std::uint64_t seed, const Means& means) {
  Drawn out;
  draw_row(Random(seed, 1).state(), means, out.row, out.left);
  std::sort(out.left.at.begin(), out.left.at.begin() + static_cast<std::ptrdiff_t>(out.left.count));
  return out;
}

Means equal(float mean) {
  Means means{};
  means.fill(mean);
  return means;
}

/// Returns means of all kinds: nothing, small, near the limit of vectors, beyond it.
Means mixed() {
  Means means{};
  for (std::size_t i = 0; i < means.size(); ++i) means[i] = static_cast<float>(i % 53) * 0.25F;
  return means;
}

TEST(PixelRow, every_kind_of_vectors_gives_the_same_bits) {
  const Drawn first = drawn(7, mixed());
  on_every_target([&] {
    const Drawn same = drawn(7, mixed());
    EXPECT_EQ(std::memcmp(&same.row, &first.row, sizeof(first.row)), 0);
    EXPECT_TRUE(std::ranges::equal(same.left.seen(), first.left.seen()));
  });
}

/// The quantile of a column, from the random words themselves.
double quantile(std::uint64_t seed, std::size_t column) {
  Random random(seed, 1);
  for (std::size_t i = 0; i < column; ++i) random.next();
  return static_cast<double>(random.next() >> 40) * 0x1p-24;
}

TEST(PixelRow, photons_are_those_of_the_inversion_in_double_precision) {
  constexpr double kWrong = 1e-6;  // of a probability, as pixel_row.hpp says
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Drawn row = drawn(seed, mixed());
    for (std::size_t i = 0; i < kJungfrauWidth; ++i) {
      if (std::ranges::binary_search(row.left.seen(), i) || mixed()[i] == 0) continue;
      const double u = quantile(seed, i);
      const float photons = row.row.photons[i];
      EXPECT_GE(photons, static_cast<float>(poisson_at(mixed()[i], std::max(1e-12, u - kWrong))));
      EXPECT_LE(photons, static_cast<float>(poisson_at(mixed()[i], u + kWrong + 0x1p-24)));
      ++compared;
    }
  }
  EXPECT_GT(compared, 35000U);
}

TEST(PixelRow, columns_of_large_means_and_of_the_last_quantiles_are_left) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < kJungfrauWidth; ++i) {
      const float mean = mixed()[i];
      if (mean >= kVectorMean || (mean > 0 && quantile(seed, i) >= kLeftQuantile)) expected.push_back(i);
    }
    EXPECT_TRUE(std::ranges::equal(drawn(seed, mixed()).left.seen(), expected)) << seed;
  }
  EXPECT_EQ(drawn(1, equal(0)).left.count, 0U);
  EXPECT_EQ(drawn(1, equal(12)).left.count, kJungfrauWidth);
}

TEST(PixelRow, no_mean_has_no_photons) {
  const Drawn row = drawn(3, equal(0));
  EXPECT_EQ(std::ranges::count(row.row.photons, 0.0F), kJungfrauWidth);
}

// With n draws mean and variance scatter by √(λ/n) and about √((2λ² + λ)/n): five of these, and those of the left ones.
TEST(PixelRow, photons_have_mean_and_variance_of_poisson) {
  for (const float lambda : {0.01F, 1.0F, 5.0F, 11.9F}) {
    double sum = 0, squares = 0, n = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Drawn row = drawn(seed, equal(lambda));
      Random rest(seed, 2);
      for (const std::uint32_t i : row.left.seen()) {
        const double u = kLeftQuantile + (1 - kLeftQuantile) * rest.uniform();
        row.row.photons[i] = static_cast<float>(poisson_at(lambda, u));
      }
      for (const float k : row.row.photons) {
        sum += k - lambda;
        squares += (k - lambda) * (k - lambda);
        n += 1;
      }
    }
    EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(lambda / n)) << lambda;
    EXPECT_NEAR(squares / n, lambda, 5 * std::sqrt((2 * lambda * lambda + lambda) / n)) << lambda;
  }
}

TEST(PixelRow, normal_numbers_are_those_of_the_library) {
  const Drawn row = drawn(5, equal(1));
  const auto bits = [](std::size_t column) {
    Random random(5, 1);
    for (std::size_t i = 0; i < column; ++i) random.next();
    return static_cast<double>(random.next() >> 16 & 0xFFFFFFU);
  };
  constexpr std::size_t kHalf = kJungfrauWidth / 2;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const double radius = std::sqrt(-2 * std::log((bits(i) + 0.5) * 0x1p-24));
    const double angle = bits(i + kHalf) * 0x1p-24 * 2 * std::numbers::pi;
    EXPECT_NEAR(row.row.normal[i], radius * std::cos(angle), 3e-6) << i;
    EXPECT_NEAR(row.row.normal[i + kHalf], radius * std::sin(angle), 3e-6) << i;
  }
}

TEST(PixelRow, normal_numbers_have_mean_0_sigma_1_and_normal_tails) {
  double sum = 0, squares = 0, beyond2 = 0, with_photons = 0, n = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Drawn row = drawn(seed, equal(1));
    for (std::size_t i = 0; i < kJungfrauWidth; ++i) {
      const double x = row.row.normal[i];
      sum += x;
      squares += x * x;
      beyond2 += std::abs(x) > 2 ? 1 : 0;
      with_photons += x * (row.row.photons[i] - 1);
      n += 1;
    }
  }
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(beyond2 / n, 0.0455, 5 * std::sqrt(0.0455 / n));
  EXPECT_NEAR(with_photons / n, 0, 5 / std::sqrt(n)) << "photons and noise of a pixel know nothing of each other";
}

TEST(PixelRow, words_are_those_of_pixels_in_g0_and_the_others_are_named) {
  std::array<float, kJungfrauWidth> pedestal{}, gain{}, noise{}, below{};
  PixelRow row{};
  for (std::size_t i = 0; i < kJungfrauWidth; ++i) {
    pedestal[i] = 2400 + static_cast<float>(i % 7);
    gain[i] = 40 + static_cast<float>(i % 5);
    noise[i] = 20 + static_cast<float>(i % 3);
    below[i] = i % 11 == 0 ? -1.0F : 100.0F;
    row.photons[i] = static_cast<float>(i % 13);
    row.normal[i] = static_cast<float>(i % 9) - 4;
  }
  row.normal[1] = -1000;  // below nothing there is nothing
  row.normal[2] = 1000;   // more than the converter has
  const RowInG0 g0{pedestal.data(), gain.data(), noise.data(), below.data(), {1, 2, 3, 4}, 10.0F};
  on_every_target([&] {
    std::array<std::uint16_t, kJungfrauWidth> words{};
    Columns left;
    read_row_in_g0(g0, row, 16383, words, left);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < kJungfrauWidth; ++i) {
      const float kev = 10 * row.photons[i];
      const float value = pedestal[i] + gain[i] * kev + static_cast<float>(1 + i / 256) + noise[i] * row.normal[i];
      if (kev >= below[i] || value >= 16383) {
        expected.push_back(i);
      } else {
        EXPECT_EQ(words[i], static_cast<std::uint16_t>(std::max(0.0F, value))) << i;  // whole numbers, all of them
      }
    }
    EXPECT_TRUE(std::ranges::equal(left.seen(), expected));
  });
}

}  // namespace
}  // namespace rashpa::dataset
