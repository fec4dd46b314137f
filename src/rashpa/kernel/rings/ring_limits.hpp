// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How devices find the background of rings: two methods, whose numbers are those of unit cpu.
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

namespace rashpa::kernel {

/// Rounds over the values within a signal-to-noise ratio, as peakfinder8 has them.
struct SnrRounds {
  double min_snr = 0;
  double threshold = 0;
};
/// Sigma clipping; a marked pixel may be above mean + factor · √(deviation² + noise²).
struct SigmaClip {
  std::vector<double> reaches{};  ///< by how many values are left, up to all of a ring: deviations that are left out
  std::uint32_t cycles = 0;
  bool azimuthal = false;  ///< variances by scatter, at first
  bool hybrid = false;     ///< by counts in the end
  double factor = 0;
  double noise = 0;
};
using RingMethod = std::variant<SnrRounds, SigmaClip>;

/// The limits of a ring: its limit and its mean (SnrRounds), or its mean and its deviation (SigmaClip).
struct RingLimit {
  float first = 0;
  float second = 0;
  /// Returns false when no value is left of the ring. It has no background, and nothing sticks out of it.
  [[nodiscard]] constexpr bool known() const noexcept { return first < std::numeric_limits<float>::max(); }
};

}  // namespace rashpa::kernel
