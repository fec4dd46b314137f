// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/rings/beam_parameters.hpp"

namespace rashpa::kernel::peakfinder8 {

namespace {

constexpr int kRounds = 5;
constexpr float kEverything = 1e9F;
constexpr double kNoNoise = 1e-10;
constexpr double kLeastSigma = 0.01;

/// The window of a ring for the next round.
struct Window {
  float low = -kEverything;
  float high = kEverything;
};

/// The ring's limits from the sums of a round.
void settle(const RingSums& sums, const Config& config, Window& window, Limit& limit) noexcept {
  if (sums.count == 0) {
    window = {std::numeric_limits<float>::min(), std::numeric_limits<float>::max()};
    limit = {window.high, 0};
    return;
  }
  const double mean = sums.sum / sums.count;
  const double variance = sums.squares / sums.count - mean * mean;
  const double reach = config.min_snr * std::sqrt(std::max(variance, 0.0));
  window = {static_cast<float>(mean - reach), static_cast<float>(std::max(mean + reach, config.threshold))};
  limit = {window.high, static_cast<float>(mean)};
}

template <typename Work>
void for_panels(const Config& config, const Shape& shape, Work work) {
  if (config.geometry_read != nullptr && !config.geometry_read->panels.empty()) {
    for (const Panel& panel : config.geometry_read->panels) work(panel);
    return;
  }
  const std::int64_t width = config.panel_width == 0 ? shape.width : config.panel_width;
  const std::int64_t height = config.panel_height == 0 ? shape.height : config.panel_height;
  for (std::int64_t top = 0; top < shape.height; top += height) {
    for (std::int64_t left = 0; left < shape.width; left += width) {
      work(Panel{left, std::min<std::int64_t>(left + width, shape.width), top,
                 std::min<std::int64_t>(top + height, shape.height)});
    }
  }
}

/// An image with the limits of its rings.
struct Seen {
  const Config& config;
  const Shape& shape;
  const Rings& rings;
  const void* image;
  PixelFormat format;
  std::span<const Limit> limits;

  [[nodiscard]] std::uint16_t ring(std::size_t pixel) const noexcept { return rings.ring_of()[pixel]; }
  [[nodiscard]] float value(std::size_t pixel) const noexcept { return pixel_value(image, format, pixel); }
};

struct Local {
  double mean = 0;
  double sigma = kLeastSigma;
  double largest = 0;
};

/// The background around a centre. Bright pixels are above the limit of their ring, so that they are left out by it.
Local around(const Seen& seen, const Panel& panel, std::int64_t x, std::int64_t y) noexcept {
  const std::int64_t reach = 2 * std::int64_t{seen.config.local_bg_radius};
  double sum = 0;
  double squares = 0;
  std::uint32_t count = 0;
  Local found;
  for (std::int64_t dy = -reach; dy < reach; ++dy) {
    for (std::int64_t dx = -reach; dx < reach; ++dx) {
      if (!panel.holds(x + dx, y + dy) || dx * dx + dy * dy > reach * reach) continue;
      const auto pixel = static_cast<std::size_t>((y + dy) * seen.shape.width + x + dx);
      const std::uint16_t ring = seen.ring(pixel);
      if (ring == Rings::kNone) continue;
      const float value = seen.value(pixel);
      if (!(value < seen.limits[ring].above)) continue;
      sum += double{value};
      squares += double{value} * double{value};
      count += 1;
      found.largest = std::max(found.largest, double{value});
    }
  }
  if (count == 0) {
    const auto centre = static_cast<std::size_t>(y * seen.shape.width + x);
    const std::uint16_t ring = seen.ring(centre);
    found.mean = ring == Rings::kNone ? 0 : double{seen.limits[ring].mean};
    return found;
  }
  found.mean = sum / count;
  found.sigma = std::sqrt(std::max(squares / count - found.mean * found.mean, 0.0));
  return found;
}

/// The number of a pixel, which may lie anywhere; −1 for no number, or a place very far away.
std::int64_t nearest(double place) noexcept {
  constexpr double kFarthest = 1e15;
  return std::abs(place) < kFarthest ? std::llrint(place) : -1;
}

/// The peak that bright pixels make, if they do. Infinite pixels (saturated ones of float images) belong to it and are
/// not weighed.
std::optional<Peak> measure(const Seen& seen, const Panel& panel, std::span<const std::uint32_t> members) noexcept {
  if (members.size() < seen.config.min_pixels || members.size() > seen.config.max_pixels) return std::nullopt;
  const auto column = [&](std::uint32_t pixel) { return static_cast<double>(pixel % seen.shape.width); };
  const auto row = [&](std::uint32_t pixel) {
    const std::uint32_t number = pixel / seen.shape.width;
    return static_cast<double>(number);
  };
  double weights = 0;
  double x = 0;
  double y = 0;
  for (const std::uint32_t pixel : members) {
    if (!std::isfinite(seen.value(pixel))) continue;
    const double weight = std::abs(double{seen.value(pixel)} - double{seen.limits[seen.ring(pixel)].mean});
    weights += weight;
    x += weight * column(pixel);
    y += weight * row(pixel);
  }
  if (weights < kNoNoise) return std::nullopt;
  const Local local = around(seen, panel, nearest(x / weights), nearest(y / weights));
  Peak peak{.pixels = static_cast<std::uint32_t>(members.size()),
            .largest = -std::numeric_limits<double>::infinity(),
            .background = local.mean};
  double values = 0;
  x = 0;
  y = 0;
  for (const std::uint32_t pixel : members) {
    const double value{seen.value(pixel)};
    peak.largest = std::max(peak.largest, value);
    if (!std::isfinite(value)) continue;
    peak.intensity += value - local.mean;
    values += value;
    x += value * column(pixel);
    y += value * row(pixel);
  }
  if (std::abs(values) < kNoNoise) return std::nullopt;
  peak.x = x / std::abs(values);
  peak.y = y / std::abs(values);
  peak.snr = local.sigma < kNoNoise ? 0 : peak.intensity / local.sigma;
  if (peak.snr < seen.config.min_snr || peak.largest < local.largest) return std::nullopt;
  if (!panel.holds(nearest(peak.x), nearest(peak.y))) return std::nullopt;
  return peak;
}

}  // namespace

void check(const Config& config) {
  if (config.min_pixels > config.max_pixels) {
    throw ConfigError(fmt::format("kernel peakfinder8: min_pixels: {} is above max_pixels {}; lower it",
                                  config.min_pixels, config.max_pixels));
  }
  if (config.max_radius != 0 && config.max_radius < config.min_radius) {
    throw ConfigError(
        fmt::format("kernel peakfinder8: max_radius: {} is below min_radius {}; raise it, or set 0 for all radii",
                    config.max_radius, config.min_radius));
  }
}

std::vector<Panel> panels_of(const Config& config, const Shape& shape) {
  std::vector<Panel> panels;
  for_panels(config, shape, [&](const Panel& panel) { panels.push_back(panel); });
  return panels;
}

Rings rings_of(const Config& config, const Shape& shape) {
  std::span<const float> given;
  if (config.geometry_read != nullptr) {
    check_geometry(*config.geometry_read, shape, "kernel peakfinder8", config.poni.empty() ? "geometry" : "poni");
    given = config.geometry_read->radius;
  }
  std::vector<std::uint16_t> ring_of;
  ring_of.reserve(shape.pixels());
  std::uint32_t count = 0;
  for (std::uint32_t y = 0; y < shape.height; ++y) {
    for (std::uint32_t x = 0; x < shape.width; ++x) {
      const double radius = given.empty() ? from_beam(x, y, config.beam_x, config.beam_y)
                                          : double{given[std::size_t{y} * shape.width + x]};
      const bool looked_at = is_looked_at(radius, config.min_radius, config.max_radius);
      const double ring = std::rint(radius);
      if (looked_at && ring >= Rings::kMost) {
        throw ConfigError(fmt::format(
            "kernel peakfinder8: beam_x, beam_y: pixel {}, {} is {} pixels from the beam, {} at most; set max_radius",
            x, y, ring, Rings::kMost - 1));
      }
      ring_of.push_back(looked_at ? static_cast<std::uint16_t>(ring) : Rings::kNone);
      if (looked_at) count = std::max(count, static_cast<std::uint32_t>(ring) + 1);
    }
  }
  if (count == 0) {
    throw ConfigError(
        "kernel peakfinder8: min_radius, max_radius: no pixel of the image is that far from the beam; look at beam_x "
        "and beam_y");
  }
  return {std::move(ring_of), count};
}

std::vector<Peak> find_reference(const Config& config, const Shape& shape, const Rings& rings, const void* image,
                                 PixelFormat format) {
  const std::size_t pixels = shape.pixels();
  std::vector<Window> windows(rings.count());
  std::vector<Limit> limits(rings.count());
  for (int round = 0; round < kRounds; ++round) {
    std::vector<RingSums> sums(rings.count());
    for (std::size_t p = 0; p < pixels; ++p) {
      const std::uint16_t ring = rings.ring_of()[p];
      if (ring == Rings::kNone) continue;
      const float value = pixel_value(image, format, p);
      if (!(value > windows[ring].low && value < windows[ring].high)) continue;
      sums[ring].sum += double{value};
      sums[ring].squares += double{value} * double{value};
      sums[ring].count += 1;
    }
    for (std::size_t ring = 0; ring < sums.size(); ++ring) settle(sums[ring], config, windows[ring], limits[ring]);
  }
  const Seen seen{config, shape, rings, image, format, limits};
  const auto bright = [&](std::size_t pixel) {
    return seen.ring(pixel) != Rings::kNone && seen.value(pixel) > limits[seen.ring(pixel)].above;
  };
  std::vector<bool> taken(pixels);
  std::vector<Peak> peaks;
  for_panels(config, shape, [&](const Panel& panel) {
    for (std::int64_t row = panel.top + 1; row < panel.bottom - 1; ++row) {
      for (std::int64_t column = panel.left + 1; column < panel.right - 1; ++column) {
        const auto seed = static_cast<std::uint32_t>(row * shape.width + column);
        if (taken[seed] || !bright(seed)) continue;
        std::vector<std::uint32_t> members{seed};
        taken[seed] = true;
        for (std::size_t at = 0; at < members.size(); ++at) {
          const std::int64_t x = members[at] % shape.width;
          const std::int64_t y = members[at] / shape.width;
          for (std::int64_t dy = -1; dy <= 1; ++dy) {
            for (std::int64_t dx = -1; dx <= 1; ++dx) {
              if (!panel.holds(x + dx, y + dy)) continue;
              const auto next = static_cast<std::uint32_t>((y + dy) * shape.width + x + dx);
              if (taken[next] || !bright(next)) continue;
              taken[next] = true;
              members.push_back(next);
            }
          }
        }
        if (const auto peak = measure(seen, panel, members)) peaks.push_back(*peak);
      }
    }
  });
  return peaks;
}

Finder::Finder(const Config& config, const Shape& shape, const Rings& rings)
    : config_(config),
      shape_(shape),
      rings_(&rings),
      values_(rings, shape.width),
      limits_(rings.count()),
      above_(rings.count()),
      bright_(shape.pixels() / 64 + 1),
      left_(bright_.size()),
      members_(shape.pixels()) {}

void Finder::limit_rings() noexcept {
  for (std::uint32_t ring = 0; ring < rings_->count(); ++ring) {
    Window window;
    for (int round = 0; round < kRounds; ++round) {
      const Window before = window;
      settle(values_.sums(ring, window.low, window.high), config_, window, limits_[ring]);
      if (window.low == before.low && window.high == before.high) break;  // and so it stays
    }
    above_[ring] = limits_[ring].above;
  }
}

std::size_t Finder::find(const void* image, PixelFormat format, std::span<Peak> peaks) noexcept {
  values_.take(image, format);
  limit_rings();
  mark_above(image, format, *rings_, above_.data(), bright_.data());
  return find_bright(image, format, limits_, bright_, peaks);
}

std::size_t Finder::find_bright(const void* image, PixelFormat format, std::span<const Limit> limits,
                                std::span<const std::uint64_t> bright, std::span<Peak> peaks) noexcept {
  std::copy_n(bright.begin(), left_.size(), left_.begin());
  const Seen seen{config_, shape_, *rings_, image, format, limits};
  const auto take = [&](std::size_t pixel) {
    const std::uint64_t bit = std::uint64_t{1} << (pixel % 64);
    const bool there = (left_[pixel / 64] & bit) != 0;
    left_[pixel / 64] &= ~bit;
    return there;
  };
  std::size_t found = 0;
  const auto grow = [&](const Panel& panel, std::uint32_t seed) {
    std::size_t count = 1;
    members_[0] = seed;
    for (std::size_t at = 0; at < count; ++at) {
      const std::int64_t x = members_[at] % shape_.width;
      const std::int64_t y = members_[at] / shape_.width;
      for (std::int64_t dy = -1; dy <= 1; ++dy) {
        for (std::int64_t dx = -1; dx <= 1; ++dx) {
          if (!panel.holds(x + dx, y + dy)) continue;
          const auto next = static_cast<std::uint32_t>((y + dy) * shape_.width + x + dx);
          if (take(next)) members_[count++] = next;
        }
      }
    }
    const auto peak = measure(seen, panel, {members_.data(), count});
    if (!peak) return;
    if (found < peaks.size()) peaks[found] = *peak;
    ++found;
  };
  for_panels(config_, shape_, [&](const Panel& panel) {
    for (std::int64_t row = panel.top + 1; row < panel.bottom - 1; ++row) {
      const auto first = static_cast<std::size_t>(row * shape_.width + panel.left + 1);
      const auto last = static_cast<std::size_t>(row * shape_.width + panel.right - 1);
      for (std::size_t at = first; at < last;) {
        const std::uint64_t word = left_[at / 64] >> (at % 64);
        if (word == 0) {
          at = (at / 64 + 1) * 64;
          continue;
        }
        at += static_cast<std::size_t>(std::countr_zero(word));
        if (at >= last) break;
        take(at);
        grow(panel, static_cast<std::uint32_t>(at));
      }
    }
  });
  return found;
}

}  // namespace rashpa::kernel::peakfinder8
