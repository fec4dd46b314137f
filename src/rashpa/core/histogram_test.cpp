// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/histogram.hpp"

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

}  // namespace
}  // namespace rashpa
