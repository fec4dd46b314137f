// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two methods by which devices find the background of rings, with the numbers of unit cpu.
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

namespace rashpa::kernel {

/// The method of peakfinder8: rounds over the values within a signal-to-noise ratio.
struct SnrRounds {
  double min_snr = 0;
  double threshold = 0;
};
/// Sigma clipping. A marked pixel may exceed mean + factor · √(deviation² + noise²).
struct SigmaClip {
  /// element n: distance in deviations beyond which a value is left out of a ring with n values left
  std::vector<double> reaches{};
  std::uint32_t cycles = 0;
  bool azimuthal = false;  ///< true: the first variances come from the scatter of the pixels
  bool hybrid = false;     ///< true: variances come from counts in the end
  double factor = 0;
  double noise = 0;
};
using RingMethod = std::variant<SnrRounds, SigmaClip>;

/// The background of a ring: its limit and its mean (SnrRounds), or its mean and its deviation (SigmaClip).
struct RingLimit {
  float first = 0;
  float second = 0;
  /// Returns false when no value of the ring is left. The ring then has no background, and no pixel exceeds it.
  [[nodiscard]] constexpr bool known() const noexcept { return first < std::numeric_limits<float>::max(); }
};

}  // namespace rashpa::kernel
