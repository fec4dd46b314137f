// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rashpa::dataset {
namespace {

constexpr int kDraws = 200000;

// Mean and variance of a Poisson variable are λ; with n draws they scatter by √(λ/n) and about √((2λ² + λ)/n): five of
// these.
TEST(Random, poisson_has_mean_and_variance_lambda_below_and_above_the_change_of_method) {
  for (const double lambda : {0.01, 1.0, 11.9, 12.1, 100.0, 20000.0}) {
    Random random(3, 1);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double k = random.poisson(lambda);
      sum += k - lambda;
      squares += (k - lambda) * (k - lambda);
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0, 5 * std::sqrt(lambda / kDraws)) << lambda;
    EXPECT_NEAR(squares / kDraws - mean * mean, lambda, 5 * std::sqrt((2 * lambda * lambda + lambda) / kDraws))
        << lambda;
  }
}

// The frequencies themselves, so that a wrong shape with right moments is found: χ² with 39 degrees of freedom, 1e-6
// beyond 100.
TEST(Random, poisson_by_rejection_follows_the_distribution) {
  constexpr double lambda = 20;
  Random random(4, 1);
  std::vector<double> seen(41, 0);
  for (int i = 0; i < kDraws; ++i) seen[std::min(40U, random.poisson(lambda))] += 1;
  double chi2 = 0;
  double below = 0;
  for (int k = 5; k < 40; ++k) {
    const double expected = kDraws * std::exp(-lambda + k * std::log(lambda) - std::lgamma(k + 1));
    chi2 += (seen[static_cast<std::size_t>(k)] - expected) * (seen[static_cast<std::size_t>(k)] - expected) / expected;
    below += seen[static_cast<std::size_t>(k)];
  }
  EXPECT_LT(chi2, 100);
  EXPECT_GT(below / kDraws, 0.999);
}

TEST(Random, poisson_of_nothing_is_nothing) {
  Random random(1, 1);
  EXPECT_EQ(random.poisson(0), 0U);
  EXPECT_EQ(random.poisson(-1), 0U);
}

TEST(Random, normal_has_mean_0_sigma_1_and_normal_tails) {
  Random random(5, 1);
  double sum = 0;
  double squares = 0;
  int beyond2 = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
    beyond2 += std::abs(x) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(beyond2 / static_cast<double>(kDraws), 0.0455, 5 * std::sqrt(0.0455 / kDraws));
}

TEST(Random, streams_of_different_names_differ_and_equal_names_agree) {
  EXPECT_NE(Random(1, 2, 3, 4, 5).next(), Random(1, 2, 3, 4, 6).next());
  EXPECT_NE(Random(1, 2, 3, 4, 5).next(), Random(1, 2, 4, 3, 5).next());
  EXPECT_EQ(Random(1, 2, 3, 4, 5).next(), Random(1, 2, 3, 4, 5).next());
}

}  // namespace
}  // namespace rashpa::dataset
