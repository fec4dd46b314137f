// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa::kernel {

/// A peak, as peak finders find it.
struct Peak {
  double x = 0;  ///< the middle of the first pixel is 0
  double y = 0;
  double intensity = 0;
  double snr = 0;
  std::uint32_t pixels = 0;
  double largest = 0;
  double background = 0;
  friend bool operator==(const Peak&, const Peak&) = default;
};

/// Bytes of a CUDA device for each peak that an image may have: its place in the order, itself, and its intensity.
inline constexpr double kPeakBytesOnCuda = sizeof(std::uint64_t) + sizeof(Peak) + sizeof(double);

}  // namespace rashpa::kernel
