// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/peaks_pass.hpp"

namespace rashpa::kernel::peakfinder8 {

namespace {

constexpr double kFarthest = 1e5;

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel peakfinder8")
          .add({.name = "threshold", .doc = "least value of a pixel of a peak", .least = -1e9, .most = 1e9},
               &Config::threshold)
          .add({.name = "min_snr", .doc = "least signal-to-noise ratio", .least = 0, .most = 1e6}, &Config::min_snr)
          .add({.name = "min_pixels", .doc = "of a peak", .least = 1, .most = 1e6, .not_above = "max_pixels"},
               &Config::min_pixels)
          .add({.name = "max_pixels", .doc = "of a peak", .least = 1, .most = 1e6}, &Config::max_pixels)
          .add({.name = "local_bg_radius", .doc = "of the background around a peak, pixels", .least = 1, .most = 50},
               &Config::local_bg_radius)
          .add({.name = "min_radius", .doc = "least distance from the beam, pixels", .least = 0, .most = kFarthest},
               &Config::min_radius)
          .add({.name = "max_radius",
                .doc = "largest distance from the beam, pixels; 0: everywhere",
                .least = 0,
                .most = kFarthest},
               &Config::max_radius)
          .add({.name = "beam_x",
                .doc = "where the beam hits the image, pixels from its corner; that of the detector when not given",
                .least = -kFarthest,
                .most = kFarthest,
                .taken_from = "detector.beam_center_x"},
               &Config::beam_x, Need::needed)
          .add({.name = "beam_y",
                .doc = "where the beam hits the image, pixels from its corner; that of the detector when not given",
                .least = -kFarthest,
                .most = kFarthest,
                .taken_from = "detector.beam_center_y"},
               &Config::beam_y, Need::needed)
          .add({.name = "panel_width",
                .doc = "of the panels that the image is made of; 0: it is one",
                .least = 0,
                .most = kFarthest},
               &Config::panel_width)
          .add({.name = "panel_height",
                .doc = "of the panels that the image is made of; 0: it is one",
                .least = 0,
                .most = kFarthest},
               &Config::panel_height)
          .add({.name = "max_peaks", .doc = "room for peaks of an image", .least = 1, .most = kMostTableRows},
               &Config::max_peaks);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "peakfinder8",
      .purpose = "finds Bragg peaks over a radial background and lists them",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = peaks::pixel_types()},
      .makes = {{.kind = Port::Kind::scalars, .columns = peaks::numbers()},
                {.kind = Port::Kind::table,
                 .capacity = "max_peaks",
                 .columns = {{.name = "x", .type = Column::Type::f64, .unit = "pixels", .doc = "Column of the centre"},
                             {.name = "y", .type = Column::Type::f64, .unit = "pixels", .doc = "Row of the centre"},
                             {.name = "intensity", .type = Column::Type::f64, .doc = "Sum over the local background"},
                             {.name = "snr", .type = Column::Type::f64, .doc = "Intensity over the local noise"},
                             {.name = "pixels", .unit = "pixels", .doc = "Of the peak"},
                             {.name = "largest", .type = Column::Type::f64, .doc = "Largest value of the peak"},
                             {.name = "background", .type = Column::Type::f64, .doc = "Local mean"}}}},
      .units = {"cpu"},
      .scratch_bytes = 15};
  return declaration;
}

/// The work of one thread.
class Worker {
 public:
  Worker(const Config& config, const Setup& setup, const Rings& rings)
      : finder_(config, setup.shape, rings), format_(setup.in), peaks_(config.max_peaks) {}

  peaks::Found find(const std::byte* image, Scalar* rows) noexcept {
    peaks::Found found{.peaks = finder_.find(image, format_, peaks_)};
    for (std::size_t i = 0; i < std::min(found.peaks, peaks_.size()); ++i) {
      const Peak& peak = peaks_[i];
      found.intensity += peak.intensity;
      for (const double value : {peak.x, peak.y, peak.intensity, peak.snr}) *rows++ = Scalar::of_real(value);
      *rows++ = Scalar::of_count(peak.pixels);
      for (const double value : {peak.largest, peak.background}) *rows++ = Scalar::of_real(value);
    }
    return found;
  }

 private:
  Finder finder_;
  PixelFormat format_;
  std::vector<Peak> peaks_;
};

class PeakFinder final : public Step {
 public:
  explicit PeakFinder(const Config& config) : config_(config) { check(config); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat in) const override {
    if (config_.panel_width > shape.width || config_.panel_height > shape.height) {
      throw ConfigError(fmt::format("kernel peakfinder8: panel_width, panel_height: {} × {}, the image has {} × {}",
                                    config_.panel_width, config_.panel_height, shape.width, shape.height));
    }
    static_cast<void>(rings_of(config_, shape));
    return in;
  }
  [[nodiscard]] std::uint32_t table_capacity() const override { return config_.max_peaks; }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    auto rings = std::make_shared<const Rings>(rings_of(config_, setup.shape));
    return std::make_unique<peaks::Pass<Worker>>(declared(), config_.max_peaks, setup, [&, rings] {
      return peaks::Held<Worker>{rings, std::make_unique<Worker>(config_, setup, *rings)};
    });
  }

 private:
  Config config_;
};

class PeakFinderKernel final : public Kernel {
 public:
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] std::shared_ptr<const Step> make(const NamedValues& values, const Given& /*given*/) const override {
    return step_of(parameters().read(values));
  }
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<PeakFinder>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PeakFinderKernel kernel;
  return kernel;
}

}  // namespace rashpa::kernel::peakfinder8
