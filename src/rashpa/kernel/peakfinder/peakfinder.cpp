// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/peakfinder/peakfinder.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace rashpa::kernel::peakfinder {

namespace {

using sigma_clip::Bin;
using sigma_clip::Level;
using sigma_clip::Radii;

struct Seen {
  const Config& config;
  const Shape& shape;
  const Radii& radii;
  const void* image;
  PixelFormat format;
  std::span<const Bin> bins;

  /// Returns the excess of a pixel; NaN where it is masked, infinite (saturated, in float images) or not looked at.
  [[nodiscard]] float excess(std::size_t pixel, Level& level) const noexcept {
    if (radii.rings().ring_of()[pixel] == Rings::kNone) return std::numeric_limits<float>::quiet_NaN();
    level = level_at(bins, radii.place(pixel), config.noise);
    const float value = pixel_value(image, format, pixel);
    return std::isfinite(value) ? value - level.mean : std::numeric_limits<float>::quiet_NaN();
  }
  [[nodiscard]] bool bright(float excess, const Level& level) const noexcept {
    return excess > 0 && double{excess} >= config.cutoff * double{level.deviation};
  }
};

std::optional<Peak> peak_at(const Seen& seen, std::size_t middle) noexcept {
  Level level;
  const float excess = seen.excess(middle, level);
  if (!seen.bright(excess, level)) return std::nullopt;
  const std::int64_t half = seen.config.patch / 2;
  const auto x = static_cast<std::int64_t>(middle % seen.shape.width);
  const auto y = static_cast<std::int64_t>(middle / seen.shape.width);
  if (x < half || y < half || x + half >= seen.shape.width || y + half >= seen.shape.height) return std::nullopt;
  Peak peak{.largest = pixel_value(seen.image, seen.format, middle), .background = level.mean};
  double variance = 0;
  double right = 0;
  double down = 0;
  for (std::int64_t dy = -half; dy <= half; ++dy) {
    for (std::int64_t dx = -half; dx <= half; ++dx) {
      const auto pixel = static_cast<std::size_t>((y + dy) * seen.shape.width + x + dx);
      if (!seen.radii.same_panel(middle, pixel)) continue;
      Level beside;
      const float more = seen.excess(pixel, beside);
      if (!(more > 0)) continue;
      if (more > excess) return std::nullopt;
      if (seen.bright(more, beside)) peak.pixels += 1;
      peak.intensity += double{more};
      variance += double{beside.deviation} * double{beside.deviation};
      right += static_cast<double>(dx) * double{more};
      down += static_cast<double>(dy) * double{more};
    }
  }
  if (peak.pixels < seen.config.connected) return std::nullopt;
  peak.x = static_cast<double>(x) + right / peak.intensity;
  peak.y = static_cast<double>(y) + down / peak.intensity;
  peak.snr = variance > 0 ? peak.intensity / std::sqrt(variance) : 0;
  return peak;
}

}  // namespace

std::vector<Peak> find_reference(const Config& config, const Shape& shape, const Radii& radii, const void* image,
                                 PixelFormat format) {
  std::vector<Bin> bins(config.bins);
  background_reference(config, radii, image, format, bins);
  const Seen seen{config, shape, radii, image, format, bins};
  std::vector<Peak> peaks;
  for (std::size_t pixel = 0; pixel < shape.pixels(); ++pixel) {
    if (const auto peak = peak_at(seen, pixel)) peaks.push_back(*peak);
  }
  return peaks;
}

Finder::Finder(const Config& config, const Shape& shape, const Radii& radii)
    : config_(config), shape_(shape), radii_(&radii), background_(config, radii) {}

std::size_t Finder::find(const void* image, PixelFormat format, std::span<Peak> peaks) noexcept {
  background_.look(image, format);
  return find_marked(image, format, background_.bins(), background_.candidates(image, format, config_.cutoff), peaks);
}

std::size_t Finder::find_marked(const void* image, PixelFormat format, std::span<const Bin> bins,
                                std::span<const std::uint64_t> marks, std::span<Peak> peaks) const noexcept {
  const Seen seen{config_, shape_, *radii_, image, format, bins};
  std::size_t found = 0;
  for (std::size_t at = 0; at * 64 < shape_.pixels(); ++at) {
    for (std::uint64_t word = marks[at]; word != 0; word &= word - 1) {
      const auto peak = peak_at(seen, at * 64 + static_cast<std::size_t>(std::countr_zero(word)));
      if (!peak) continue;
      if (found < peaks.size()) peaks[found] = *peak;
      ++found;
    }
  }
  return found;
}

}  // namespace rashpa::kernel::peakfinder
