// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/sparsify/sparsify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rashpa::kernel::sparsify {

namespace {

using sigma_clip::Bin;
using sigma_clip::Level;
using sigma_clip::Radii;

bool sticks_out(const Config& config, const Radii& radii, std::span<const Bin> bins, const void* image,
                PixelFormat format, std::size_t pixel) noexcept {
  if (radii.rings().ring_of()[pixel] == Rings::kNone) return false;
  const Level level = level_at(bins, radii.place(pixel), config.noise);
  const double excess{pixel_value(image, format, pixel) - level.mean};
  return excess > std::max(config.noise, config.cutoff * double{level.deviation});
}

}  // namespace

std::size_t capacity_of(const Config& config, std::size_t pixels) noexcept {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(config.capacity * static_cast<double>(pixels))));
}

std::vector<std::uint32_t> sparsify_reference(const Config& config, const Radii& radii, const void* image,
                                              PixelFormat format, std::span<Bin> bins) {
  background_reference(config, radii, image, format, bins);
  std::vector<std::uint32_t> index;
  for (std::size_t pixel = 0; pixel < radii.rings().ring_of().size(); ++pixel) {
    if (sticks_out(config, radii, bins, image, format, pixel)) index.push_back(static_cast<std::uint32_t>(pixel));
  }
  return index;
}

std::size_t sparsify_marked(const Config& config, const Radii& radii, const void* image, PixelFormat format,
                            std::span<const Bin> bins, std::span<const std::uint64_t> marks,
                            std::span<std::uint32_t> index) noexcept {
  std::size_t found = 0;
  for (std::size_t at = 0; at < marks.size(); ++at) {
    if (at * 64 >= radii.rings().ring_of().size()) break;
    for (std::uint64_t word = marks[at]; word != 0; word &= word - 1) {
      const std::size_t pixel = at * 64 + static_cast<std::size_t>(std::countr_zero(word));
      if (!sticks_out(config, radii, bins, image, format, pixel)) continue;
      if (found < index.size()) index[found] = static_cast<std::uint32_t>(pixel);
      ++found;
    }
  }
  return found;
}

Sparsifier::Sparsifier(const Config& config, const Radii& radii)
    : config_(config), radii_(&radii), background_(config, radii) {}

std::size_t Sparsifier::sparsify(const void* image, PixelFormat format, std::span<std::uint32_t> index) noexcept {
  background_.look(image, format);
  return sparsify_marked(config_, *radii_, image, format, background_.bins(),
                         background_.candidates(image, format, config_.cutoff), index);
}

}  // namespace rashpa::kernel::sparsify
