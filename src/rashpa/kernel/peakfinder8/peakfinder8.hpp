// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds Bragg peaks over a radial background. See README.md.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/peaks/peak.hpp"
#include "rashpa/kernel/rings/pixel_geometry.hpp"
#include "rashpa/kernel/rings/ring_values.hpp"
#include "rashpa/kernel/rings/rings.hpp"

namespace rashpa::kernel::peakfinder8 {

struct Config {
  double threshold = 800;
  double min_snr = 5;
  std::uint32_t min_pixels = 2;
  std::uint32_t max_pixels = 200;
  std::uint32_t local_bg_radius = 3;
  double min_radius = 0;  ///< pixels
  double max_radius = 0;  ///< pixels; 0: no bound
  double beam_x = 0;      ///< pixels from the corner of the image
  double beam_y = 0;
  std::uint32_t panel_width = 0;  ///< pixels; 0: the width of the image
  std::uint32_t panel_height = 0;
  std::uint32_t max_peaks = 2048;
  std::string poni{};  ///< files from which `geometry_read` was made
  std::string geometry{};
  std::shared_ptr<const PixelGeometry> geometry_read{};  ///< replaces beam and panels
};

/// Throws ConfigError when bounds contradict each other.
void check(const Config& config);

/// Makes a pipeline step. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// Returns the rings of pixels by their rounded distance from the beam; kNone outside min_radius and max_radius.
Rings rings_of(const Config& config, const Shape& shape);

/// Returns the panels of the geometry, or those of panel_width and panel_height.
std::vector<Panel> panels_of(const Config& config, const Shape& shape);

/// The background of a ring.
struct Limit {
  float above = 0;  ///< a larger pixel is bright
  float mean = 0;   ///< mean of the radial background
  /// Returns false when no value of the ring is left.
  [[nodiscard]] constexpr bool known() const noexcept { return above < std::numeric_limits<float>::max(); }
};

/// Returns all peaks of an image in order. The plain reference: allocates.
std::vector<Peak> find_reference(const Config& config, const Shape& shape, const Rings& rings, const void* image,
                                 PixelFormat format);

/// Finds the peaks of find_reference(), but fast, and in memory of its own. One thread at a time.
class Finder {
 public:
  /// Takes the memory. `rings` outlives the object. Throws ResourceError.
  Finder(const Config& config, const Shape& shape, const Rings& rings);
  /// Writes the first peaks.size() peaks to `peaks`; returns the number of all peaks.
  std::size_t find(const void* image, PixelFormat format, std::span<Peak> peaks) noexcept;
  /// Finds the peaks of an image whose ring limits and bright pixels, one bit each, are known. Writes and returns as
  /// find() does.
  std::size_t find_bright(const void* image, PixelFormat format, std::span<const Limit> limits,
                          std::span<const std::uint64_t> bright, std::span<Peak> peaks) noexcept;
  /// Returns the limits of the last image of find().
  [[nodiscard]] std::span<const Limit> limits() const noexcept { return limits_; }
  [[nodiscard]] std::uint32_t empty() const noexcept { return empty_rings(*rings_, limits()); }

 private:
  void limit_rings() noexcept;

  Config config_;
  Shape shape_;
  const Rings* rings_;
  RingValues values_;
  std::vector<Limit> limits_;
  std::vector<float> above_;
  std::vector<std::uint64_t> bright_;
  std::vector<std::uint64_t> left_;     // bright pixels that are in no peak yet
  std::vector<std::uint32_t> members_;  // of the peak in hand
};

}  // namespace rashpa::kernel::peakfinder8
