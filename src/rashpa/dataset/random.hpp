// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/core/numbers/random_words.hpp"

namespace rashpa::dataset {

/// One stream of random numbers of a family. The stream's name is its use (purpose, frame, module, row), so simulated
/// frames do not depend on threads or their order.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t purpose, std::uint64_t a = 0, std::uint64_t b = 0,
         std::uint64_t c = 0) noexcept
      : state_(mix(mix(mix(mix(mix(seed) ^ purpose) ^ a) ^ b) ^ c)) {}

  std::uint64_t next() noexcept {
    const std::uint64_t value = mix(state_);
    state_ += 0x9E3779B97F4A7C15ULL;
    return value;
  }
  /// Returns a number in (0, 1).
  double uniform() noexcept { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
  /// Returns a number in 0 … n − 1, for n > 0.
  std::uint32_t below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
  }
  /// Returns a normal variable with mean 0 and standard deviation 1 (Box and Muller 1958).
  float normal() noexcept;
  /// Returns a Poisson variable with mean `lambda` ≥ 0: inversion below 12, else transformed rejection (Hörmann 1993,
  /// PTRS).
  std::uint32_t poisson(double lambda) noexcept;
  /// Returns the state, for callers that make many numbers at once. The n-th next number is mix(state + n ·
  /// 0x9E3779B97F4A7C15).
  [[nodiscard]] std::uint64_t state() const noexcept { return state_; }

 private:
  std::uint64_t state_;
  float spare_ = 0.0F;
  bool has_spare_ = false;
};

/// Returns the Poisson variable with mean 0 < `lambda` < 12 at the quantile 0 < `u` < 1.
std::uint32_t poisson_at(double lambda, double u) noexcept;

}  // namespace rashpa::dataset
