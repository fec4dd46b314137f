// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"

namespace rashpa::kernel::azimuthal {

/// Shares of pixels bin by bin, in each by pixel: the table by which devices gather.
struct ByBin {
  std::vector<std::uint32_t> firsts;  ///< of each bin, and behind the last one
  std::vector<std::uint32_t> pixels;  ///< not empty
  std::vector<float> shares;          ///< empty where they are all 1
};
ByBin by_bin(const Prepared& prepared);

}  // namespace rashpa::kernel::azimuthal
