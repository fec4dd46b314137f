// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pixels that stick out of the background by radius and are the largest around. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/kernel/peaks/peak.hpp"
#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

namespace rashpa::kernel::peakfinder {

struct Config : sigma_clip::Config {
  std::uint32_t patch = 5;  ///< odd
  std::uint32_t connected = 3;
  std::uint32_t max_peaks = 2048;
};

/// A step of a pipeline. Throws ConfigError when bounds contradict each other.
std::shared_ptr<const Step> step_of(const Config& config);

/// All peaks of an image in order. The plain reference: allocates.
std::vector<Peak> find_reference(const Config& config, const Shape& shape, const sigma_clip::Radii& radii,
                                 const void* image, PixelFormat format);

/// The same, fast, with memory of its own. One thread at a time.
class Finder {
 public:
  /// `radii` outlives it. Throws ResourceError.
  Finder(const Config& config, const Shape& shape, const sigma_clip::Radii& radii);
  /// The first peaks.size() of them are put there; returns how many there are.
  std::size_t find(const void* image, PixelFormat format, std::span<Peak> peaks) noexcept;
  /// The same, of an image of which the background and the candidates, one bit each, are known.
  std::size_t find_marked(const void* image, PixelFormat format, std::span<const sigma_clip::Bin> bins,
                          std::span<const std::uint64_t> marks, std::span<Peak> peaks) const noexcept;
  /// Rings without background, of the image that find() has looked at.
  [[nodiscard]] std::uint32_t empty() const noexcept { return empty_rings(radii_->rings(), background_.bins()); }

 private:
  Config config_;
  Shape shape_;
  const sigma_clip::Radii* radii_;
  sigma_clip::Background background_;
};

}  // namespace rashpa::kernel::peakfinder
