// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds pixels that exceed the background by radius and are the largest in their surroundings. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/kernel/peaks/peak.hpp"
#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

namespace rashpa::kernel::peakfinder {

struct Config : sigma_clip::Config {
  std::uint32_t patch = 5;  ///< pixels, odd
  std::uint32_t connected = 3;
  std::uint32_t max_peaks = 2048;
};

/// Makes a pipeline step. Throws ConfigError when bounds contradict each other.
std::shared_ptr<const Step> step_of(const Config& config);

/// Returns all peaks of an image in order. The plain reference: allocates.
std::vector<Peak> find_reference(const Config& config, const Shape& shape, const sigma_clip::Radii& radii,
                                 const void* image, PixelFormat format);

/// Finds the peaks of find_reference(), but fast, and in memory of its own. One thread at a time.
class Finder {
 public:
  /// Takes the memory. `radii` outlives the object. Throws ResourceError.
  Finder(const Config& config, const Shape& shape, const sigma_clip::Radii& radii);
  /// Writes the first peaks.size() peaks to `peaks`; returns the number of all peaks.
  std::size_t find(const void* image, PixelFormat format, std::span<Peak> peaks) noexcept;
  /// Finds the peaks of an image whose background and candidates, one bit each, are known. Writes and returns as find()
  /// does.
  std::size_t find_marked(const void* image, PixelFormat format, std::span<const sigma_clip::Bin> bins,
                          std::span<const std::uint64_t> marks, std::span<Peak> peaks) const noexcept;
  /// Returns the number of rings without background in the last image of find().
  [[nodiscard]] std::uint32_t empty() const noexcept { return empty_rings(radii_->rings(), background_.bins()); }

 private:
  Config config_;
  Shape shape_;
  const sigma_clip::Radii* radii_;
  sigma_clip::Background background_;
};

}  // namespace rashpa::kernel::peakfinder
