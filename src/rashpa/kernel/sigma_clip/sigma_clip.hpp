// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The background of an image by radius without outliers, common to the kernels `peakfinder` and `sparsify`. See
/// README.md.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/rings/beam_parameters.hpp"
#include "rashpa/kernel/rings/pixel_geometry.hpp"
#include "rashpa/kernel/rings/ring_values.hpp"
#include "rashpa/kernel/rings/rings.hpp"

namespace rashpa::kernel::sigma_clip {

/// The source of a pixel's deviation.
enum class ErrorModel : std::uint8_t {
  poisson,    ///< from its background counts
  azimuthal,  ///< from the spread of the pixels of the same radius
  hybrid,     ///< azimuthal while outliers are removed, then poisson
};

struct Config {
  double beam_x = 0;  ///< pixels from the corner of the image
  double beam_y = 0;
  double min_radius = 0;  ///< pixels
  double max_radius = 0;  ///< pixels; 0: no bound
  std::uint32_t bins = 800;
  ErrorModel error_model = ErrorModel::poisson;
  double clip = 0;  ///< in deviations; at least those of Chauvenet's criterion are used
  std::uint32_t cycles = 5;
  double noise = 1;    ///< noise of the detector
  double cutoff = 3;   ///< deviations above the background
  std::string poni{};  ///< files from which `geometry_read` was made
  std::string geometry{};
  std::shared_ptr<const PixelGeometry> geometry_read{};  ///< replaces the beam
};

/// Throws ConfigError when bounds contradict each other; `owner` is the prefix, such as "kernel sparsify".
void check(const Config& config, const char* owner);

/// Adds the parameters that both kernels share, each with the member of Settings that holds it. Settings derives from
/// Config.
template <class Settings>
Parameters<Settings> with_parameters(Parameters<Settings> parameters);

/// The radii of all pixels. Made once; any number of threads read it.
class Radii {
 public:
  /// Computes the radii. Throws ConfigError that begins with `owner` when no pixel is used, or the geometry has another
  /// shape.
  Radii(const Config& config, const Shape& shape, const char* owner);
  [[nodiscard]] const Rings& rings() const noexcept { return rings_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// Returns the place of a pixel that lies in a ring, between the middles of bins: 0 to bins − 1.
  [[nodiscard]] float place(std::size_t pixel) const noexcept;
  /// Returns true when both pixels lie in the same panel, and where there are no panels.
  [[nodiscard]] bool same_panel(std::size_t pixel, std::size_t other) const noexcept {
    return panel_of_.empty() || panel_of_[pixel] == panel_of_[other];
  }
  /// Returns the panel of each pixel, from 1; 0: in none. Empty: there are no panels.
  [[nodiscard]] std::span<const std::uint16_t> panel_of() const noexcept { return panel_of_; }
  /// Returns the middle of a bin in pixels.
  [[nodiscard]] double middle(std::uint32_t bin) const noexcept { return first_ + step_ * bin; }

 private:
  [[nodiscard]] double radius_of(std::size_t pixel) const noexcept;
  Rings ring(const Config& config, const Shape& shape, const char* owner);
  std::uint32_t width_;
  std::shared_ptr<const PixelGeometry> geometry_;  // null: distances are those from the beam
  std::vector<std::uint16_t> panel_of_;
  double beam_x_;
  double beam_y_;
  std::uint32_t bins_;
  double first_ = 0;  // the middle of the first bin
  double step_ = 1;
  Rings rings_;
};

/// The background of a bin: mean and deviation. Both are NaN where no pixel is left; then there is no background, and
/// no pixel exceeds it.
struct Bin {
  float mean = 0;
  float deviation = 0;
  static constexpr Bin none() noexcept {
    return {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
  }
  [[nodiscard]] bool known() const noexcept { return mean == mean; }
  friend bool operator==(const Bin& one, const Bin& other) noexcept {
    return (!one.known() && !other.known()) || (one.mean == other.mean && one.deviation == other.deviation);
  }
};

/// The background at a pixel: its mean, and the deviation including the detector's noise. Between a bin with a
/// background and one without, the first bin's values hold. Pixels of a bin without background get NaN.
struct Level {
  float mean = 0;
  float deviation = 0;
};
Level level_at(std::span<const Bin> bins, float place, double noise) noexcept;

/// Returns the distance, in deviations, beyond which a value is left out of a bin with `left` values: at least that of
/// Chauvenet's criterion.
double reach_of(const Config& config, std::uint32_t left) noexcept;

/// Computes the background. The plain reference. `bins` is [Config::bins].
void background_reference(const Config& config, const Radii& radii, const void* image, PixelFormat format,
                          std::span<Bin> bins);

/// Computes the background of background_reference(), but fast, and in memory of its own; then the pixels that exceed
/// it. One thread at a time.
class Background {
 public:
  /// Takes the memory. `radii` outlives the object. Throws ResourceError.
  Background(const Config& config, const Radii& radii);
  void look(const void* image, PixelFormat format) noexcept;
  [[nodiscard]] std::span<const Bin> bins() const noexcept { return bins_; }
  /// Returns one bit for each pixel, 64 in a word. It is set for all pixels that may exceed mean + factor · deviation,
  /// and for few others. Call it after look().
  std::span<const std::uint64_t> candidates(const void* image, PixelFormat format, double factor) noexcept;

 private:
  Config config_;
  const Radii* radii_;
  RingValues values_;
  std::vector<Bin> bins_;
  std::vector<float> above_;
  std::vector<std::uint64_t> marks_;
};

template <class Class, typename T>
using MemberOf = T Class::*;
template <class Settings, typename T>
constexpr MemberOf<Settings, T> member(MemberOf<Config, T> of_base) noexcept {
  return of_base;
}

template <class Settings>
Parameters<Settings> with_parameters(Parameters<Settings> parameters) {
  return std::move(parameters)
      .add(beam_x_parameter(), member<Settings>(&Config::beam_x), Need::needed)
      .add(beam_y_parameter(), member<Settings>(&Config::beam_y), Need::needed)
      .add(min_radius_parameter(), member<Settings>(&Config::min_radius))
      .add(max_radius_parameter(), member<Settings>(&Config::max_radius))
      .add({.name = "bins", .doc = "bins of the background by radius", .least = 2, .most = Rings::kMost},
           member<Settings>(&Config::bins))
      .add({.name = "error_model", .choices = {"poisson", "azimuthal", "hybrid"}},
           member<Settings>(&Config::error_model))
      .add({.name = "clip",
            .doc = "deviations from which on a pixel is left out of the background; at least Chauvenet's criterion",
            .least = 0,
            .most = 1e6},
           member<Settings>(&Config::clip))
      .add({.name = "cycles", .doc = "how often pixels are left out, at most", .least = 0, .most = 100},
           member<Settings>(&Config::cycles))
      .add({.name = "noise", .doc = "noise of the detector, in units of the pixels", .least = 0, .most = 1e9},
           member<Settings>(&Config::noise))
      .add({.name = "cutoff", .doc = "deviations of picked pixels above the background", .least = 0, .most = 1e6},
           member<Settings>(&Config::cutoff))
      .add(poni_parameter(), member<Settings>(&Config::poni))
      .add(geometry_parameter(), member<Settings>(&Config::geometry));
}

}  // namespace rashpa::kernel::sigma_clip
