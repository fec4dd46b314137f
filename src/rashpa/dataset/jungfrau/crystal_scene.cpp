// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/jungfrau/crystal_scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "rashpa/dataset/jungfrau/jungfrau_calibration.hpp"
#include "rashpa/dataset/random.hpp"

namespace rashpa::dataset {

namespace {

constexpr std::uint64_t kPurposeOrientation = 0x6A660011;
constexpr std::uint64_t kPurposeReflection = 0x6A660012;
constexpr double kHcKevAngstrom = 12.398419843;
constexpr float kDistancePixels = 100.0F / 0.075F;
constexpr float kBeamStopPixels = 18;
constexpr float kWaterAngstrom = 3.3F;
constexpr std::array<float, 3> kCellAngstrom{79.1F, 79.1F, 37.9F};
constexpr float kDebyeWaller = 14;       // B, Å²
constexpr float kStrongest = 12000;      // expected photons of a mean reflection at angle 0
constexpr float kRelrodSigma = 0.0006F;  // 1/Å: how far from the Ewald sphere a reflection still shines
constexpr float kMostPhotons = 400000;   // of one spot: its brightest pixel stays below 16 bits

using Vector = std::array<float, 3>;
using Matrix = std::array<Vector, 3>;

/// A uniformly distributed rotation (Shoemake 1992: a random unit quaternion).
Matrix random_rotation(Random& random) {
  const double u = random.uniform();
  const double a = 2 * std::numbers::pi * random.uniform();
  const double b = 2 * std::numbers::pi * random.uniform();
  const auto x = static_cast<float>(std::sqrt(1 - u) * std::sin(a));
  const auto y = static_cast<float>(std::sqrt(1 - u) * std::cos(a));
  const auto z = static_cast<float>(std::sqrt(u) * std::sin(b));
  const auto w = static_cast<float>(std::sqrt(u) * std::cos(b));
  return {{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
           {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
           {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}

/// Wilson statistics: the intensity of (h k l) is exponentially distributed, and the same in every frame.
float structure_factor(std::uint64_t seed, int h, int k, int l) noexcept {
  Random random(seed, kPurposeReflection, static_cast<std::uint64_t>(h + 512), static_cast<std::uint64_t>(k + 512),
                static_cast<std::uint64_t>(l + 512));
  return static_cast<float>(-std::log(random.uniform()));
}

/// Returns width and height of the assembled image, pixels.
std::pair<float, float> size_of(const std::vector<ModulePlace>& places) noexcept {
  std::uint32_t right = 0, bottom = 0;
  for (const ModulePlace& place : places) {
    const auto [width, height] = turned_sides(place.orientation, kJungfrauWidth, kJungfrauHeight);
    right = std::max(right, place.x + width);
    bottom = std::max(bottom, place.y + height);
  }
  return {static_cast<float>(right), static_cast<float>(bottom)};
}

TurnedAxes axes_of(const ModulePlace& place) noexcept { return {place.orientation, kJungfrauWidth, kJungfrauHeight}; }

struct Candidate {
  float excitation;  // distance from the Ewald sphere, 1/Å
  Spot spot;
  std::array<int, 3> hkl;
};

}  // namespace

std::vector<ModulePlace> gapless_places(std::uint32_t modules) {
  const std::uint32_t columns = modules > 2 ? 2 : 1;
  std::vector<ModulePlace> places(modules);
  for (std::uint32_t m = 0; m < modules; ++m) {
    places[m] = {m % columns * kJungfrauWidth, m / columns * kJungfrauHeight};
  }
  return places;
}

CrystalScene::CrystalScene(std::vector<ModulePlace> places, double energy_kev, double background_photons)
    : places_(std::move(places)),
      width_(size_of(places_).first),
      height_(size_of(places_).second),
      wavelength_(static_cast<float>(kHcKevAngstrom / energy_kev)),
      ring_(kDistancePixels * std::tan(2 * std::asin(std::min(0.7F, wavelength_ / (2 * kWaterAngstrom))))) {
  double sum = 0;
  double samples = 0;
  constexpr std::uint32_t kStep = 8;
  for (std::uint32_t module = 0; module < places_.size(); ++module) {
    for (std::uint32_t y = kStep / 2; y < kJungfrauHeight; y += kStep) {
      for (std::uint32_t x = kStep / 2; x < kJungfrauWidth; x += kStep, ++samples) sum += background(module, x, y);
    }
  }
  scale_ = static_cast<float>(background_photons * samples / sum);
}

Spot CrystalScene::seen_by(std::uint32_t module, const Spot& spot) const noexcept {
  const ModulePlace& place = places_[module];
  if (place.orientation.upright()) return spot;
  const TurnedAxes axes = axes_of(place);
  const float x = spot.x - module_x(module) - static_cast<float>(axes.x);
  const float y = spot.y - module_y(module) - static_cast<float>(axes.y);
  Spot seen = spot;
  seen.x = module_x(module) + x * static_cast<float>(axes.column_x) + y * static_cast<float>(axes.column_y);
  seen.y = module_y(module) + x * static_cast<float>(axes.row_x) + y * static_cast<float>(axes.row_y);
  return seen;
}

float CrystalScene::background(std::uint32_t module, std::uint32_t column, std::uint32_t row) const noexcept {
  const ModulePlace& place = places_[module];
  const TurnedAxes axes = axes_of(place);
  return background(static_cast<float>(place.x + axes.x + column * axes.column_x + row * axes.row_x),
                    static_cast<float>(place.y + axes.y + column * axes.column_y + row * axes.row_y));
}

float CrystalScene::shape(float x, float y) const noexcept {
  const float dx = x - width_ / 2;
  const float dy = y - height_ / 2;
  const float r = std::sqrt(dx * dx + dy * dy);
  if (r < kBeamStopPixels) return 0;
  const float ring = (r - ring_) / (0.16F * ring_);
  return 0.25F + 1.2F * std::exp(-r / 120) + std::exp(-0.5F * ring * ring) / (1 + r / (4 * ring_));
}

std::vector<Spot> CrystalScene::spots(std::uint64_t seed, std::uint64_t frame, std::uint32_t count) const {
  Random random(seed, kPurposeOrientation, frame);
  const Matrix rotation = random_rotation(random);
  const float volume = std::exp(0.6F * random.normal());  // how much crystal the beam meets
  const float k0 = 1 / wavelength_;
  const float corner = std::sqrt(width_ * width_ + height_ * height_) / 2;
  const float q_most = 2 * k0 * std::sin(std::atan(corner / kDistancePixels) / 2);
  std::array<int, 3> most{};
  for (std::size_t i = 0; i < 3; ++i) most[i] = std::min(511, static_cast<int>(q_most * kCellAngstrom[i]));

  std::vector<Candidate> candidates;
  for (int h = -most[0]; h <= most[0]; ++h) {
    for (int k = -most[1]; k <= most[1]; ++k) {
      for (int l = -most[2]; l <= most[2]; ++l) {
        const Vector g{static_cast<float>(h) / kCellAngstrom[0], static_cast<float>(k) / kCellAngstrom[1],
                       static_cast<float>(l) / kCellAngstrom[2]};
        const float z = rotation[2][0] * g[0] + rotation[2][1] * g[1] + rotation[2][2] * g[2] + k0;
        if (z <= 0) continue;
        const float x = rotation[0][0] * g[0] + rotation[0][1] * g[1] + rotation[0][2] * g[2];
        const float y = rotation[1][0] * g[0] + rotation[1][1] * g[1] + rotation[1][2] * g[2];
        const float excitation = std::abs(std::sqrt(x * x + y * y + z * z) - k0);
        if (excitation > 4 * kRelrodSigma) continue;
        const float px = width_ / 2 + kDistancePixels * x / z;
        const float py = height_ / 2 + kDistancePixels * y / z;
        const float from_beam = std::hypot(px - width_ / 2, py - height_ / 2);
        if (px < 0 || py < 0 || px >= width_ || py >= height_ || from_beam < 2 * kBeamStopPixels) continue;
        const float q2 = g[0] * g[0] + g[1] * g[1] + g[2] * g[2];
        const float partial = std::exp(-0.5F * excitation * excitation / (kRelrodSigma * kRelrodSigma));
        candidates.push_back(
            {excitation, {px, py, volume * kStrongest * std::exp(-kDebyeWaller * q2 / 2) * partial, 1.0F}, {h, k, l}});
      }
    }
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.excitation < b.excitation; });
  if (candidates.size() > count) candidates.resize(count);
  std::vector<Spot> out;
  for (Candidate& candidate : candidates) {
    const auto [h, k, l] = candidate.hkl;
    candidate.spot.photons = std::min(kMostPhotons, candidate.spot.photons * structure_factor(seed, h, k, l));
    candidate.spot.sigma = 0.8F + 0.5F * static_cast<float>(random.uniform());
    out.push_back(candidate.spot);
  }
  return out;
}

}  // namespace rashpa::dataset
