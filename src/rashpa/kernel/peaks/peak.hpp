// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa::kernel {

/// A peak of an image, as all peak finders return it.
struct Peak {
  double x = 0;  ///< 0 is the middle of the first pixel
  double y = 0;
  double intensity = 0;
  double snr = 0;
  std::uint32_t pixels = 0;
  double largest = 0;
  double background = 0;
  friend bool operator==(const Peak&, const Peak&) = default;
};

/// The bytes of CUDA device memory for each peak of an image: its position in the order, the peak, and its intensity.
inline constexpr double kPeakBytesOnCuda = sizeof(std::uint64_t) + sizeof(Peak) + sizeof(double);

}  // namespace rashpa::kernel
