// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/peakfinder/peakfinder.hpp"
#include "rashpa/kernel/peaks_pass.hpp"

namespace rashpa::kernel::peakfinder {

namespace {

constexpr const char* kOwner = "kernel peakfinder";

const Parameters<Config>& parameters() {
  static const auto declared =
      sigma_clip::with_parameters(Parameters<Config>("kernel peakfinder"))
          .add({.name = "patch", .doc = "side of the square around a peak, pixels", .allowed = {3, 5, 7, 9}},
               &Config::patch)
          .add({.name = "connected", .doc = "pixels of the square above the limit", .least = 1, .most = 81},
               &Config::connected)
          .add({.name = "max_peaks", .doc = "room for peaks of an image", .least = 1, .most = kMostTableRows},
               &Config::max_peaks);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "peakfinder",
      .purpose = "finds pixels above a sigma-clipped radial background that are the largest around",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = peaks::pixel_types()},
      .makes = {{.kind = Port::Kind::scalars, .columns = peaks::numbers()},
                {.kind = Port::Kind::table,
                 .capacity = "max_peaks",
                 .columns = {{.name = "x", .type = Column::Type::f64, .unit = "pixels", .doc = "Column of the centre"},
                             {.name = "y", .type = Column::Type::f64, .unit = "pixels", .doc = "Row of the centre"},
                             {.name = "intensity", .type = Column::Type::f64, .doc = "Sum over the background"},
                             {.name = "snr", .type = Column::Type::f64, .doc = "Intensity over its deviation"},
                             {.name = "pixels", .unit = "pixels", .doc = "Above the limit"},
                             {.name = "largest", .type = Column::Type::f64, .doc = "Value in the middle"},
                             {.name = "background", .type = Column::Type::f64, .doc = "In the middle"}}}},
      .units = {"cpu"},
      .scratch_bytes = 15};
  return declaration;
}

/// The work of one thread.
class Worker {
 public:
  Worker(const Config& config, const Setup& setup, const sigma_clip::Radii& radii)
      : finder_(config, setup.shape, radii), format_(setup.in), peaks_(config.max_peaks) {}

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
  explicit PeakFinder(const Config& config) : config_(config) {
    sigma_clip::check(config, kOwner);
    if (config.connected > config.patch * config.patch) {
      throw ConfigError(fmt::format("{}: connected: {} pixels, the square of patch {} has {}", kOwner, config.connected,
                                    config.patch, config.patch * config.patch));
    }
  }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat in) const override {
    static_cast<void>(sigma_clip::Radii(config_, shape, kOwner));
    return in;
  }
  [[nodiscard]] std::uint32_t table_capacity() const override { return config_.max_peaks; }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    auto radii = std::make_shared<const sigma_clip::Radii>(config_, setup.shape, kOwner);
    return std::make_unique<peaks::Pass<Worker>>(declared(), config_.max_peaks, setup, [&, radii] {
      return peaks::Held<Worker>{radii, std::make_unique<Worker>(config_, setup, *radii)};
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

}  // namespace rashpa::kernel::peakfinder
