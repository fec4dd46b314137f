// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "rashpa/core/image/orientation.hpp"

namespace rashpa::dataset {

/// A Bragg spot on the detector: its expected photons in total, around a position in detector pixels.
struct Spot {
  float x = 0;
  float y = 0;
  float photons = 0;
  float sigma = 1;  ///< pixels
};

/// The place of a module in the assembled image: the first pixel of its turned frame.
struct ModulePlace {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  Orientation orientation{};
};

/// Returns the places of modules of 1024 × 512 pixels without gaps: one column, or two columns from three modules on.
[[nodiscard]] std::vector<ModulePlace> gapless_places(std::uint32_t modules);

/// The synthetic experiment: a crystal of the tetragonal lysozyme cell (79.1, 79.1, 37.9 Å) in a water background, on a
/// flat detector 100 mm away with 75 µm pixels. Modules of 1024 × 512 pixels lie at their places, with any gaps between
/// them. The beam hits the middle of the assembled image; coordinates are its pixels.
class CrystalScene {
 public:
  /// Prepares the scene for `places`, one for each module and at least one.
  CrystalScene(std::vector<ModulePlace> places, double energy_kev, double background_photons);

  [[nodiscard]] float module_x(std::uint32_t module) const noexcept { return static_cast<float>(places_[module].x); }
  [[nodiscard]] float module_y(std::uint32_t module) const noexcept { return static_cast<float>(places_[module].y); }
  /// Returns the spot in the coordinates of a module's frame, for any orientation of the module.
  [[nodiscard]] Spot seen_by(std::uint32_t module, const Spot& spot) const noexcept;
  /// Returns the expected background photons of a pixel of a module.
  [[nodiscard]] float background(std::uint32_t module, std::uint32_t column, std::uint32_t row) const noexcept;
  /// Returns the expected background photons of a pixel of the image. The background falls off with the angle and has
  /// water's ring at 3.3 Å and the beam stop's shadow. Its mean over all modules is `background_photons` of the
  /// constructor.
  [[nodiscard]] float background(float x, float y) const noexcept { return scale_ * shape(x, y); }
  /// Returns reflections of a crystal whose random orientation follows from `seed` and `frame`: of those that meet the
  /// detector, the `count` nearest to the Ewald sphere.
  [[nodiscard]] std::vector<Spot> spots(std::uint64_t seed, std::uint64_t frame, std::uint32_t count) const;

 private:
  [[nodiscard]] float shape(float x, float y) const noexcept;
  std::vector<ModulePlace> places_;
  float width_;
  float height_;
  float wavelength_;  // Å
  float ring_;        // pixels from the beam
  float scale_ = 1;
};

}  // namespace rashpa::dataset
