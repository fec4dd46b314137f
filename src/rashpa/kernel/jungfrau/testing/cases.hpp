// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The test cases of all backends.
#include <cmath>
#include <cstdint>
#include <limits>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau {

/// Returns a calibration that repeats one pixel: pedestals 100, 200, 300 ADU, gains 10, −1, −0.1 ADU/keV, 2 keV.
inline Config simple(Output output, std::uint32_t width = 64) {
  Config config{2.0, output, {width, 1, {}, {}, {}}};
  for (const float pedestal : {100.0F, 200.0F, 300.0F})
    config.calibration.pedestal.insert(config.calibration.pedestal.end(), width, pedestal);
  for (const float gain : {10.0F, -1.0F, -0.1F})
    config.calibration.gain.insert(config.calibration.gain.end(), width, gain);
  return config;
}

/// A row of the decode table (README.md): one word, the calibration of its pixel, and the expected result.
struct Row {
  const char* what;
  std::uint16_t word;
  float pedestal0, gain0, gain1, gain2;
  std::uint32_t mask;
  std::int16_t photons;
  double kev;  // NaN: masked
};
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr auto kMasked = kMaskedPhotons;

inline const Row kRows[] = {
    {"G0 at the pedestal", 100, 100, 10, -1, -0.1F, 0, 0, 0},
    {"G0 above", 300, 100, 10, -1, -0.1F, 0, 10, 20},
    {"G0 below", 0, 100, 10, -1, -0.1F, 0, -5, -10},
    {"G0 tie goes to even, down", 110, 100, 10, -1, -0.1F, 0, 0, 1},
    {"G0 tie goes to even, up", 130, 100, 10, -1, -0.1F, 0, 2, 3},
    {"G0 negative tie goes to even", 70, 100, 10, -1, -0.1F, 0, -2, -3},
    {"G0 largest word", 0x3FFF, 100, 10, -1, -0.1F, 0, 814, 1628.3},
    {"G1 negative slope", 0x4000 | 100, 100, 10, -1, -0.1F, 0, 50, 100},
    {"G1 above its pedestal is negative", 0x4000 | 300, 100, 10, -1, -0.1F, 0, -50, -100},
    {"G2 negative slope", 0xC000 | 100, 100, 10, -1, -0.1F, 0, 1000, 2000},
    {"code 10 is illegal", 0x8000 | 100, 100, 10, -1, -0.1F, 0, kMasked, kNan},
    {"code 10 with ADU 0 is illegal", 0x8000, 100, 10, -1, -0.1F, 0, kMasked, kNan},
    {"code 10 with all ADU bits is illegal", 0xBFFF, 100, 10, -1, -0.1F, 0, kMasked, kNan},
    {"overflow of G2", 0xC000, 100, 10, -1, -0.1F, 0, kSaturatedPhotons, kInf},
    {"next to overflow is a value", 0xC001, 100, 10, -1, -0.1F, 0, 1495, 2990},
    {"readout error, all ones", 0xFFFF, 100, 10, -1, -0.1F, 0, kMasked, kNan},
    {"next to all ones is a value", 0xFFFE, 100, 10, -1, -0.1F, 0, -32767, -160820},
    {"readout error, G1 with ADU 0", 0x4000, 100, 10, -1, -0.1F, 0, kMasked, kNan},
    {"next to 0x4000 is a value", 0x4001, 100, 10, -1, -0.1F, 0, 100, 199},
    {"no gain in G0", 300, 100, 0, -1, -0.1F, 0, kMasked, kNan},
    {"no gain in G0 leaves G1", 0x4000 | 100, 100, 0, -1, -0.1F, 0, 50, 100},
    {"no gain in G1", 0x4000 | 100, 100, 10, 0, -0.1F, 0, kMasked, kNan},
    {"no gain in G2", 0xC000 | 100, 100, 10, -1, 0, 0, kMasked, kNan},
    {"pedestal of G0 too large", 300, 16384, 10, -1, -0.1F, 0, kMasked, kNan},
    {"pedestal of G0 just valid", 0, 16383, 10, -1, -0.1F, 0, -819, -1638.3},
    {"gain is not a number", 300, 100, NAN, -1, -0.1F, 0, kMasked, kNan},
    {"pedestal is not a number", 300, NAN, 10, -1, -0.1F, 0, kMasked, kNan},
    {"masked in calibration", 300, 100, 10, -1, -0.1F, 2, kMasked, kNan},
    {"masked in calibration, G1", 0x4000 | 100, 100, 10, -1, -0.1F, 1, kMasked, kNan},
    {"masked in calibration hides overflow", 0xC000, 100, 10, -1, -0.1F, 256, kMasked, kNan},
    {"mask bits above 16 do not mask", 300, 100, 10, -1, -0.1F, 0x10000, 10, 20},
    {"too large for int16 stops below the special code", 0xC001, 100, 10, -1, -1e-4F, 0, 32766, 2990000},
    {"G0 too large for int16 too", 0x3FFF, 100, 1e-3F, -1, -0.1F, 0, 32766, 16283000},
    {"G0 too small for int16 too", 0, 16000, 1e-3F, -1, -0.1F, 0, -32767, -16000000},
};

/// Returns a calibration of 64 pixels with that of the row.
inline Config config_of(const Row& row, Output output) {
  Config config = simple(output, 64);
  for (std::size_t pixel = 0; pixel < 64; ++pixel) {
    config.calibration.pedestal[pixel] = row.pedestal0;
    config.calibration.gain[pixel] = row.gain0;
    config.calibration.gain[64 + pixel] = row.gain1;
    config.calibration.gain[128 + pixel] = row.gain2;
  }
  config.calibration.mask.assign(64, row.mask);
  return config;
}

}  // namespace rashpa::kernel::jungfrau
