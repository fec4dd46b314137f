// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/random.hpp"

#include <cmath>
#include <numbers>

namespace rashpa::dataset {

namespace {

// log k!, by Stirling's series; std::lgamma is not safe between threads (it writes signgam).
double log_factorial(double k) noexcept {
  if (k < 10) {
    double product = 1;
    for (int i = 2; i <= static_cast<int>(k); ++i) product *= i;
    return std::log(product);
  }
  const double n = k + 1;
  return (n - 0.5) * std::log(n) - n + 0.5 * std::log(2 * std::numbers::pi) + 1 / (12 * n) - 1 / (360 * n * n * n);
}

}  // namespace

float Random::normal() noexcept {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const std::uint64_t bits = next();
  const float u = (static_cast<float>(bits >> 40) + 0.5F) * 0x1p-24F;
  const float angle = static_cast<float>(bits & 0xFFFFFFU) * 0x1p-24F * 2 * std::numbers::pi_v<float>;
  const float radius = std::sqrt(-2 * std::log(u));
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::uint32_t poisson_at(double lambda, double u) noexcept {
  double term = std::exp(-lambda);
  double sum = term;
  std::uint32_t k = 0;
  while (u > sum && k < 100) {  // beyond 100 the terms are below the precision of `sum`
    term *= lambda / ++k;
    sum += term;
  }
  return k;
}

std::uint32_t Random::poisson(double lambda) noexcept {
  if (!(lambda > 0)) return 0;
  if (lambda < 12) return poisson_at(lambda, uniform());
  const double b = 0.931 + 2.53 * std::sqrt(lambda);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = uniform() - 0.5;
    const double v = uniform();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + lambda + 0.43);
    if (us >= 0.07 && v <= v_r) return static_cast<std::uint32_t>(k);
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= -lambda + k * std::log(lambda) - log_factorial(k)) {
      return static_cast<std::uint32_t>(k);
    }
  }
}

}  // namespace rashpa::dataset
