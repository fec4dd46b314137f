// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the pixels that exceed the background by radius, and that background. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

namespace rashpa::kernel::sparsify {

struct Config : sigma_clip::Config {
  double capacity = 0.1;  ///< fraction of the pixels for which the list has room
};

/// Makes a pipeline step. Throws ConfigError when bounds contradict each other.
std::shared_ptr<const Step> step_of(const Config& config);

std::size_t capacity_of(const Config& config, std::size_t pixels) noexcept;

/// Returns the pixels that exceed the background, ascending. The plain reference: allocates. `bins` [Config::bins] gets
/// the background.
std::vector<std::uint32_t> sparsify_reference(const Config& config, const sigma_clip::Radii& radii, const void* image,
                                              PixelFormat format, std::span<sigma_clip::Bin> bins);

/// Finds the pixels of sparsify_reference() in an image whose background and candidates, one bit each, are known.
/// Writes the first index.size() of them; returns the number of all.
std::size_t sparsify_marked(const Config& config, const sigma_clip::Radii& radii, const void* image, PixelFormat format,
                            std::span<const sigma_clip::Bin> bins, std::span<const std::uint64_t> marks,
                            std::span<std::uint32_t> index) noexcept;

/// Finds the pixels of sparsify_reference(), but fast, and in memory of its own. One thread at a time.
class Sparsifier {
 public:
  /// Takes the memory. `radii` outlives the object. Throws ResourceError.
  Sparsifier(const Config& config, const sigma_clip::Radii& radii);
  /// Writes the first index.size() pixels to `index`; returns the number of all.
  std::size_t sparsify(const void* image, PixelFormat format, std::span<std::uint32_t> index) noexcept;
  [[nodiscard]] std::span<const sigma_clip::Bin> bins() const noexcept { return background_.bins(); }

 private:
  Config config_;
  const sigma_clip::Radii* radii_;
  sigma_clip::Background background_;
};

}  // namespace rashpa::kernel::sparsify
