// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Synthetic JUNGFRAU calibrations and raw frames with the measured values of a real module (always labelled
/// synthetic), for tests and benchmarks. They have noise in all pixels, all three gains, and spots in a fraction of the
/// pixels.
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau::synthetic {

/// A seeded splitmix64 generator, the same on all machines.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::uint32_t below(std::uint32_t end) noexcept { return static_cast<std::uint32_t>((next() >> 32U) * end >> 32U); }
  double uniform() noexcept { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// Returns a roughly normal number: the scaled sum of four uniform numbers.
  double normal() noexcept { return (uniform() + uniform() + uniform() + uniform() - 2.0) * std::numbers::sqrt3; }

 private:
  std::uint64_t state_;
};

inline constexpr double kEnergyKev = 12.4;

inline Config config(std::uint32_t width, std::uint32_t height, Output output, std::uint64_t seed,
                     double masked_fraction = 0.001) {
  constexpr double kPedestal[] = {2446, 13584, 14100};
  constexpr double kPedestalSpread[] = {216, 153, 167};
  constexpr double kGain[] = {41.0, -1.450, -0.1156};
  constexpr double kGainSpread[] = {0.026, 0.023, 0.019};
  const std::size_t pixels = static_cast<std::size_t>(width) * height;
  Random random(seed);
  Config config{
      kEnergyKev, output, {width, height, std::vector<float>(3 * pixels), std::vector<float>(3 * pixels), {}}};
  for (std::size_t gain = 0; gain < 3; ++gain) {
    for (std::size_t i = 0; i < pixels; ++i) {
      config.calibration.pedestal[gain * pixels + i] =
          static_cast<float>(kPedestal[gain] + kPedestalSpread[gain] * random.normal());
      config.calibration.gain[gain * pixels + i] =
          static_cast<float>(kGain[gain] * (1 + kGainSpread[gain] * random.normal()));
    }
  }
  config.calibration.mask.resize(pixels);
  for (auto& mask : config.calibration.mask) mask = random.uniform() < masked_fraction ? 2 : 0;
  return config;
}

/// Returns the word that a pixel gives for a number of photons; its gain switches near 20 and 600 photons.
inline std::uint16_t word_of(double photons, const Config& config, std::size_t pixel, double noise_adu) {
  const std::size_t pixels = static_cast<std::size_t>(config.calibration.width) * config.calibration.height;
  const unsigned gain = photons < 20 ? 0 : (photons < 600 ? 1 : 2);
  const double adu = config.calibration.pedestal[gain * pixels + pixel] +
                     photons * kEnergyKev * config.calibration.gain[gain * pixels + pixel] + noise_adu;
  constexpr std::uint16_t kCode[] = {0x0000, 0x4000, 0xC000};
  return static_cast<std::uint16_t>(kCode[gain] |
                                    static_cast<std::uint16_t>(std::lround(std::fmin(16382, std::fmax(1, adu)))));
}

/// Returns one raw frame: noise, a weak background, and spots of 5 × 5 pixels that cover the fraction `switched` of the
/// pixels and switch their gain.
inline std::vector<std::uint16_t> frame(const Config& config, double switched, std::uint64_t seed) {
  const std::uint32_t width = config.calibration.width;
  const std::uint32_t height = config.calibration.height;
  Random random(seed);
  std::vector<double> photons(static_cast<std::size_t>(width) * height);
  for (auto& p : photons) p = random.uniform() < 0.02 ? 1 : 0;
  const auto spots = static_cast<std::size_t>(switched * static_cast<double>(photons.size()) / 25);
  for (std::size_t s = 0; s < spots && width > 8 && height > 8; ++s) {
    const std::uint32_t x = random.below(width - 5);
    const std::uint32_t y = random.below(height - 5);
    const double peak = random.uniform() < 0.05 ? 1500 : 25 + 200 * random.uniform();
    for (std::uint32_t i = 0; i < 25; ++i) photons[(y + i / 5) * static_cast<std::size_t>(width) + x + i % 5] += peak;
  }
  std::vector<std::uint16_t> words(photons.size());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_of(photons[i], config, i, 23.9 * random.normal());
  return words;
}

}  // namespace rashpa::kernel::jungfrau::synthetic
