// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/rings/beam_parameters.hpp"

namespace rashpa::kernel::sigma_clip {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kFewest = 3;  // Chauvenet's criterion needs a logarithm above 0
/// Part of a bin: a distance so near below a border lies on it, and so in the bin above. The largest one lies in the
/// last.
constexpr double kOnBorder = 1e-9;
constexpr double kNarrowest = 1e-9;  ///< of bins, pixels: where all pixels have one distance

/// Values of a bin that are not left out: low < value < high.
struct Window {
  float low = -kInfinity;
  float high = kInfinity;
};

/// The statistics of a bin's values; deviation² is the variance over the pixels.
struct Moments {
  std::uint32_t count = 0;
  double mean = 0;
  double variance = 0;
};

/// `whole`: sums over the window; `above_one`: over those of them that are at least 1. A pixel without counts has the
/// variance of one with 1.
Moments moments_of(const RingSums& whole, const RingSums& above_one, bool azimuthal) noexcept {
  if (whole.count == 0) return {};
  const double mean = whole.sum / whole.count;
  const double variance = azimuthal ? std::max(whole.squares / whole.count - mean * mean, 0.0)
                                    : (above_one.sum + (whole.count - above_one.count)) / whole.count;
  return {whole.count, mean, variance};
}

/// The part of the window within `reach` of the mean; a value at the limit is kept.
Window within(const Window& window, double mean, double reach) noexcept {
  return {std::max(window.low, std::nextafter(static_cast<float>(mean - reach), -kInfinity)),
          std::min(window.high, std::nextafter(static_cast<float>(mean + reach), kInfinity))};
}

/// Leaves out what is further from the mean than the criterion says, as long as there is something to leave out. Where
/// the counts would leave nothing, the spread decides. `sums(window)`: of the values in it.
template <typename Sums>
Bin clip(const Config& config, Sums sums) {
  const bool hybrid = config.error_model == ErrorModel::hybrid;
  const float one = std::nextafter(1.0F, 0.0F);
  const auto moments = [&](const RingSums& whole, const Window& window, bool azimuthal) {
    return moments_of(whole, azimuthal ? RingSums{} : sums(Window{std::max(window.low, one), window.high}), azimuthal);
  };
  bool azimuthal = config.error_model == ErrorModel::azimuthal || (hybrid && config.cycles > 0);
  Window window;
  RingSums now = sums(window);
  Moments found = moments(now, window, azimuthal);
  std::uint32_t left = std::max(kFewest, found.count);
  for (std::uint32_t cycle = 0; cycle < config.cycles && found.count > 0; ++cycle) {
    const double reach = reach_of(config, left) * std::sqrt(found.variance);
    Window next = within(window, found.mean, reach);
    RingSums kept = sums(next);
    if (kept.count == 0 && !azimuthal) {
      next = within(window, found.mean, reach_of(config, left) * std::sqrt(moments_of(now, {}, true).variance));
      kept = sums(next);
    }
    const std::uint32_t clipped = found.count - kept.count;
    window = next;
    now = kept;
    if (clipped == 0 && !hybrid) break;
    left = std::max(kFewest, left - clipped);
    if (hybrid && (cycle + 1 == config.cycles || clipped == 0)) azimuthal = false;
    found = moments(kept, window, azimuthal);
    if (clipped == 0) break;
  }
  if (found.count == 0) return Bin::none();
  return {static_cast<float>(found.mean), static_cast<float>(std::sqrt(found.variance))};
}

/// Throws ConfigError when the geometry is of another shape.
std::vector<std::uint16_t> panels_of(const Config& config, const Shape& shape, const char* owner) {
  if (config.geometry_read == nullptr) return {};
  check_geometry(*config.geometry_read, shape, owner, config.poni.empty() ? "geometry" : "poni");
  const std::vector<Panel>& panels = config.geometry_read->panels;
  if (panels.empty()) return {};
  if (panels.size() >= std::numeric_limits<std::uint16_t>::max()) {
    throw ConfigError(fmt::format("{}: geometry: the file has {} panels; give one of {} or fewer", owner, panels.size(),
                                  std::numeric_limits<std::uint16_t>::max() - 1));
  }
  std::vector<std::uint16_t> panel_of(shape.pixels());
  for (std::size_t number = 0; number < panels.size(); ++number) {
    const Panel& panel = panels[number];
    for (auto row = static_cast<std::size_t>(panel.top); row < static_cast<std::size_t>(panel.bottom); ++row) {
      const auto line = panel_of.begin() + static_cast<std::ptrdiff_t>(row * shape.width);
      std::fill(line + panel.left, line + panel.right, static_cast<std::uint16_t>(number + 1));
    }
  }
  return panel_of;
}

}  // namespace

void check(const Config& config, const char* owner) {
  if (config.max_radius != 0 && config.max_radius < config.min_radius) {
    throw ConfigError(fmt::format("{}: max_radius: {} is below min_radius {}; raise it, or set 0 for all radii", owner,
                                  config.max_radius, config.min_radius));
  }
}

Radii::Radii(const Config& config, const Shape& shape, const char* owner)
    : width_(shape.width),
      geometry_(config.geometry_read),
      panel_of_(panels_of(config, shape, owner)),
      beam_x_(config.beam_x),
      beam_y_(config.beam_y),
      bins_(config.bins),
      rings_(ring(config, shape, owner)) {}

Rings Radii::ring(const Config& config, const Shape& shape, const char* owner) {
  std::vector<double> radius(shape.pixels());
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (std::size_t pixel = 0; pixel < radius.size(); ++pixel) {
    radius[pixel] = radius_of(pixel);
    if (!is_looked_at(radius[pixel], config.min_radius, config.max_radius)) {
      radius[pixel] = -1;
      continue;
    }
    least = std::min(least, radius[pixel]);
    most = std::max(most, radius[pixel]);
  }
  if (least > most) {
    throw ConfigError(
        fmt::format("{}: min_radius, max_radius: no pixel of the image is that far from the beam; look "
                    "at {}",
                    owner, config.geometry_read == nullptr ? "beam_x and beam_y" : "the geometry"));
  }
  step_ = std::max((most - least) / bins_, kNarrowest);
  first_ = least + step_ / 2;
  std::vector<std::uint16_t> ring_of(radius.size(), Rings::kNone);
  for (std::size_t pixel = 0; pixel < radius.size(); ++pixel) {
    if (radius[pixel] < 0) continue;
    const double bin = (radius[pixel] - least) / step_ + kOnBorder;
    ring_of[pixel] = static_cast<std::uint16_t>(std::min<double>(bin, bins_ - 1));
  }
  return {std::move(ring_of), bins_};
}

double Radii::radius_of(std::size_t pixel) const noexcept {
  if (geometry_ != nullptr) return geometry_->radius[pixel];
  return from_beam(pixel % width_, pixel / width_, beam_x_, beam_y_);
}

float Radii::place(std::size_t pixel) const noexcept {
  return static_cast<float>(std::clamp((radius_of(pixel) - first_) / step_, 0.0, static_cast<double>(bins_ - 1)));
}

Level level_at(std::span<const Bin> bins, float place, double noise) noexcept {
  const auto bin = static_cast<std::size_t>(place);
  const std::size_t next = std::min(bin + 1, bins.size() - 1);
  const float part = place - static_cast<float>(bin);
  const Bin own = bins[part < 0.5F ? bin : next];
  const bool both = bins[bin].known() && bins[next].known();
  const float mean = both ? bins[bin].mean * (1 - part) + bins[next].mean * part : own.mean;
  const float deviation = both ? bins[bin].deviation * (1 - part) + bins[next].deviation * part : own.deviation;
  return {mean, static_cast<float>(std::sqrt(double{deviation} * double{deviation} + noise * noise))};
}

double reach_of(const Config& config, std::uint32_t left) noexcept {
  const double chauvenet = std::sqrt(2 * std::log(left / std::sqrt(2 * std::numbers::pi)));
  return std::max(config.clip, chauvenet);
}

void background_reference(const Config& config, const Radii& radii, const void* image, PixelFormat format,
                          std::span<Bin> bins) {
  std::vector<std::vector<float>> values(bins.size());
  const auto ring_of = radii.rings().ring_of();
  for (std::size_t pixel = 0; pixel < ring_of.size(); ++pixel) {
    if (ring_of[pixel] != Rings::kNone) values[ring_of[pixel]].push_back(pixel_value(image, format, pixel));
  }
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    bins[bin] = clip(config, [&](const Window& window) {
      RingSums sums;
      for (const float value : values[bin]) {
        if (!(value > window.low && value < window.high)) continue;
        sums.sum += double{value};
        sums.squares += double{value} * double{value};
        sums.count += 1;
      }
      return sums;
    });
  }
}

Background::Background(const Config& config, const Radii& radii)
    : config_(config),
      radii_(&radii),
      values_(radii.rings(), radii.width()),
      bins_(config.bins),
      above_(config.bins),
      marks_(radii.rings().slot().size() / 64 + 1) {}

void Background::look(const void* image, PixelFormat format) noexcept {
  values_.take(image, format);
  for (std::uint32_t bin = 0; bin < config_.bins; ++bin) {
    bins_[bin] = clip(config_, [&](const Window& window) { return values_.sums(bin, window.low, window.high); });
  }
}

/// The limit of a pixel lies between those of its bin and of the bins beside it, and rounding on the way is much less
/// than a thousandth of it.
std::span<const std::uint64_t> Background::candidates(const void* image, PixelFormat format, double factor) noexcept {
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    const std::size_t last = std::min(bin + 1, bins_.size() - 1);
    float mean = kInfinity;
    float deviation = kInfinity;
    for (std::size_t beside = bin == 0 ? 0 : bin - 1; beside <= last; ++beside) {
      if (!bins_[beside].known()) continue;
      mean = std::min(mean, bins_[beside].mean);
      deviation = std::min(deviation, bins_[beside].deviation);
    }
    const double limit = mean + factor * std::hypot(double{deviation}, config_.noise);
    above_[bin] = mean == kInfinity ? kInfinity : static_cast<float>(limit - 1e-3 * (std::abs(limit) + 1));
  }
  mark_above(image, format, radii_->rings(), above_.data(), marks_.data());
  return marks_;
}

}  // namespace rashpa::kernel::sigma_clip
