// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"

namespace rashpa::kernel::azimuthal {

/// The shares of pixels sorted by bin and then by pixel, the table by which devices gather.
struct ByBin {
  std::vector<std::uint32_t> firsts;  ///< first share of each bin, then the number of shares
  std::vector<std::uint32_t> pixels;  ///< pixel of each share; not empty
  std::vector<float> shares;          ///< size of each share; empty where all are 1
};
ByBin by_bin(const Prepared& prepared);

}  // namespace rashpa::kernel::azimuthal
