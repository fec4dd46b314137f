// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/numbers/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rashpa {
namespace {

TEST(Histogram, percentiles_are_within_a_sixteenth) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> spread(10, 2);
  Histogram histogram;
  std::vector<std::int64_t> values(10000);
  for (auto& value : values) {
    value = static_cast<std::int64_t>(spread(random));
    histogram.record(value);
  }
  std::sort(values.begin(), values.end());
  for (double p : {0.01, 0.5, 0.9, 0.99}) {
    const auto exact = static_cast<double>(values[static_cast<std::size_t>(p * 10000) - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.percentile_ns(p)), exact, exact / 16 + 1) << p;
  }
  EXPECT_EQ(histogram.max_ns(), values.back());
  EXPECT_EQ(histogram.percentile_ns(1.0), values.back());
}

TEST(Histogram, empty_and_negative_give_zero) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile_ns(0.5), 0);
  histogram.record(-5);
  EXPECT_EQ(histogram.percentile_ns(0.5), 0);
  EXPECT_EQ(histogram.count(), 1U);
}

TEST(Histogram, counts_below_powers_of_two_are_exact) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> spread(12, 3);
  Histogram histogram;
  std::vector<std::int64_t> values{0, 15, 16, 1023, 1024, 1025, (std::int64_t{1} << 20) - 1, std::int64_t{1} << 20};
  for (int i = 0; i < 10000; ++i) values.push_back(static_cast<std::int64_t>(spread(random)));
  std::int64_t sum = 0;
  for (const std::int64_t value : values) {
    histogram.record(value);
    sum += value;
  }
  std::vector<std::uint64_t> counts(25);
  for (const unsigned first : {4U, 10U, 38U}) {
    histogram.count_below(first, counts);
    for (unsigned i = 0; i < counts.size(); ++i) {
      const std::int64_t bound = std::int64_t{1} << (first + i);
      const auto below = std::count_if(values.begin(), values.end(), [=](std::int64_t value) { return value < bound; });
      EXPECT_EQ(counts[i], static_cast<std::uint64_t>(below)) << bound;
    }
  }
  EXPECT_EQ(histogram.sum_ns(), sum);
  histogram.reset();
  EXPECT_EQ(histogram.sum_ns(), 0);
}

}  // namespace
}  // namespace rashpa
