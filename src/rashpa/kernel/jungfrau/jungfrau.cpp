// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"

namespace rashpa::kernel::jungfrau {

namespace {

/// Pedestal and factor of one gain of one pixel; not valid: there is no calibration for it.
struct Entry {
  float pedestal;
  float factor;
  bool valid;
};

Entry entry_of(const Config& config, unsigned gain, std::size_t pixel) noexcept {
  const Calibration& calibration = config.calibration;
  const std::size_t pixels = static_cast<std::size_t>(calibration.width) * calibration.height;
  const float pedestal = calibration.pedestal[gain * pixels + pixel];
  const float adu_per_kev = calibration.gain[gain * pixels + pixel];
  const double energy = config.output == Output::photons ? config.photon_energy_kev : 1.0;
  const auto factor = static_cast<float>(1.0 / (static_cast<double>(adu_per_kev) * energy));
  const bool masked = !calibration.mask.empty() && (calibration.mask[pixel] & kMaskBits) != 0;
  const bool valid = !masked && std::isfinite(adu_per_kev) && adu_per_kev != 0.0F && std::isfinite(factor) &&
                     std::abs(pedestal) < kPedestalLimit && (gain != 0 || pedestal <= kLargestAdu);
  return {pedestal, factor, valid};
}

enum class Kind : std::uint8_t { value, masked, saturated };

struct Decoded {
  Kind kind;
  float value;  // photons before rounding, or keV
};

Decoded decode(std::uint16_t word, const Config& config, std::size_t pixel) noexcept {
  const unsigned code = word >> 14;
  if (code == 2 || word == kReadoutErrorOnes || word == kReadoutErrorG1) return {Kind::masked, 0.0F};
  const unsigned gain = code == 3 ? 2 : code;
  const Entry entry = entry_of(config, gain, pixel);
  if (!entry.valid) return {Kind::masked, 0.0F};
  if (word == kOverflow) return {Kind::saturated, 0.0F};
  return {Kind::value, (static_cast<float>(word & kAduMask) - entry.pedestal) * entry.factor};
}

void check(const Config& config) {
  const Calibration& calibration = config.calibration;
  const std::size_t pixels = static_cast<std::size_t>(calibration.width) * calibration.height;
  if (pixels == 0) throw ConfigError("jungfrau: the calibration has no pixels; set width and height");
  if (!std::isfinite(config.photon_energy_kev) || config.photon_energy_kev <= 0) {
    throw ConfigError(
        fmt::format("jungfrau: photon_energy_kev is {}; give a number above 0", config.photon_energy_kev));
  }
  const auto expect = [&](const char* name, std::size_t size, std::size_t planes) {
    if (size == planes * pixels) return;
    throw ConfigError(fmt::format("jungfrau: {} has {} values; give {} × {} × {} = {}", name, size, planes,
                                  calibration.height, calibration.width, planes * pixels));
  };
  expect("pedestal", calibration.pedestal.size(), 3);
  expect("gain", calibration.gain.size(), 3);
  if (!calibration.mask.empty()) expect("mask", calibration.mask.size(), 1);
}

/// Returns true when a word of G0 can leave int16; `anywhere`: with any pedestal that a word can be.
bool leaves_int16(const Entry& entry, bool anywhere) noexcept {
  if (anywhere) return std::abs(kLargestAdu * entry.factor) > kLargestPhotons;
  const float ends[] = {(0.0F - entry.pedestal) * entry.factor, (kLargestAdu - entry.pedestal) * entry.factor};
  return std::any_of(std::begin(ends), std::end(ends),
                     [](float x) { return !(x >= kSmallestPhotons && x <= kLargestPhotons); });
}

}  // namespace

std::int16_t photons_of(std::uint16_t word, const Config& config, std::size_t pixel) noexcept {
  const Decoded decoded = decode(word, config, pixel);
  if (decoded.kind == Kind::masked) return kMaskedPhotons;
  if (decoded.kind == Kind::saturated) return kSaturatedPhotons;
  return static_cast<std::int16_t>(std::clamp(std::nearbyint(decoded.value), kSmallestPhotons, kLargestPhotons));
}

float kev_of(std::uint16_t word, const Config& config, std::size_t pixel) noexcept {
  const Decoded decoded = decode(word, config, pixel);
  if (decoded.kind == Kind::masked) return std::numeric_limits<float>::quiet_NaN();
  if (decoded.kind == Kind::saturated) return std::numeric_limits<float>::infinity();
  return decoded.value;
}

void convert_reference(const Config& config, const Images& images, const Taps& taps, std::size_t first,
                       std::size_t last) noexcept {
  for (std::size_t i = 0; i < images.count; ++i) {
    Counts& counts = images.counts[i];
    for (std::size_t pixel = first; pixel < last; ++pixel) {
      const std::uint16_t word = images.raw[i][pixel];
      const Kind kind = decode(word, config, pixel).kind;
      counts.masked += kind == Kind::masked ? 1 : 0;
      counts.saturated += kind == Kind::saturated ? 1 : 0;
      if (config.output == Output::kev) {
        static_cast<float*>(images.out[i])[pixel] = kev_of(word, config, pixel);
        continue;
      }
      const std::int16_t photons = photons_of(word, config, pixel);
      static_cast<std::int16_t*>(images.out[i])[pixel] = photons;
      const bool valid = kind != Kind::masked;
      if (taps.count && valid && photons >= taps.bright_threshold) counts.bright += 1;
      if (!taps.mark) continue;
      const std::uint64_t bit = std::uint64_t{1} << (pixel % kGroup);
      std::uint64_t& marks = images.marks[i][pixel / kGroup];
      marks = valid && photons >= taps.mark_threshold ? marks | bit : marks & ~bit;
    }
  }
}

Prepared::Prepared(const Config& config)
    : pixels_(static_cast<std::size_t>(config.calibration.width) * config.calibration.height),
      output_(config.output),
      groups_((pixels_ + kGroup - 1) / kGroup) {
  check(config);
  tables_ = memory::Buffer(3 * groups_ * 2 * kGroup * sizeof(float), memory::MemoryKind::huge);
  invalid_g0_.assign(groups_, 0);
  wild_.assign(groups_, 0);
  const bool photons = output_ == Output::photons;
  for (unsigned gain = 0; gain < 3; ++gain) {
    for (std::size_t i = 0; i < groups_ * kGroup; ++i) {
      Entry entry = i < pixels_ ? entry_of(config, gain, i) : Entry{0, 0, false};
      const std::size_t group = i / kGroup;
      if (!entry.valid) {
        entry.pedestal = photons ? kMaskedPedestal : std::numeric_limits<float>::quiet_NaN();
        entry.factor = kMaskedFactor;
        if (gain == 0) invalid_g0_[group] |= std::uint64_t{1} << (i % kGroup);
      } else if (gain == 0 && photons && leaves_int16(entry, config.tracking.from != Tracking::From::off)) {
        wild_[group] = 1;
      }
      float* table = reinterpret_cast<float*>(tables_.data()) + (gain * groups_ + group) * 2 * kGroup +
                     (i % 2) * (kGroup / 2) + (i % kGroup) / 2;
      table[0] = entry.pedestal;
      table[kGroup] = entry.factor;
    }
  }
}

}  // namespace rashpa::kernel::jungfrau
