// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau_fpga.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"

namespace rashpa::kernel::jungfrau {

namespace {

constexpr std::size_t kBeats = kFpgaBlock / kFpgaLanes;
constexpr std::size_t kHalf = kFpgaLanes / 2;

/// Pedestal and factor of a pixel.
std::array<float, 2> entry_of(const Prepared& calibration, unsigned gain, std::size_t pixel) {
  if (pixel >= calibration.pixels()) return {kMaskedPedestal, kMaskedFactor};
  const std::size_t in_group = pixel % kGroup;
  const float* const table = calibration.table(gain, pixel / kGroup) + (in_group % 2) * (kGroup / 2) + in_group / 2;
  return {table[0], table[kGroup]};
}

}  // namespace

FpgaTables fpga_tables(const Prepared& calibration) {
  if (calibration.output() != Output::photons) {
    throw ConfigError("jungfrau: unit fpga makes photons; set output = \"photons\", or take another unit for keV");
  }
  const std::size_t blocks = (calibration.pixels() + kFpgaBlock - 1) / kFpgaBlock;
  const std::size_t floats = blocks * kFpgaBlockBytes / sizeof(float);
  FpgaTables tables{std::vector<float>(floats), std::vector<float>(floats)};
  for (std::size_t pixel = 0; pixel < blocks * kFpgaBlock; ++pixel) {
    const std::size_t block = pixel / kFpgaBlock;
    const std::size_t beat = pixel % kFpgaBlock / kFpgaLanes;
    const std::size_t lane = pixel % kFpgaLanes;
    auto& half = lane < kHalf ? tables.low : tables.high;
    for (unsigned gain = 0; gain < kGainStages; ++gain) {
      const auto [pedestal, factor] = entry_of(calibration, gain, pixel);
      if (std::abs(factor) > kLargestFpgaFactor) {
        throw ConfigError(fmt::format(
            "jungfrau: unit fpga: the factor of pixel {}, gain {}, is {} photons/ADU; it takes at most 2^125: "
            "check the gain map",
            pixel, gain, factor));
      }
      const std::size_t place = 2 * ((((block * kGainStages + gain) * kBeats) + beat) * kHalf + lane % kHalf);
      half[place] = pedestal;
      half[place + 1] = factor;
    }
  }
  return tables;
}

}  // namespace rashpa::kernel::jungfrau
