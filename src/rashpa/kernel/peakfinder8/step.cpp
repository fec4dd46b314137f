// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/peaks/peaks_pass.hpp"
#include "rashpa/kernel/rings/beam_parameters.hpp"
#include "rashpa/kernel/rings/counted_rings.hpp"
#include "rashpa/kernel/rings/pixel_geometry.hpp"
#include "rashpa/kernel/rings/ring_limits.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/peakfinder8/peakfinder8_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/peaks/peaks_opencl.hpp"
#include "rashpa/kernel/rings/rings_opencl.hpp"
#endif

namespace rashpa::kernel::peakfinder8 {

namespace {

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel peakfinder8")
          .add({.name = "threshold", .doc = "least value of a pixel of a peak", .least = -1e9, .most = 1e9},
               &Config::threshold)
          .add({.name = "min_snr", .doc = "least signal-to-noise ratio", .least = 0, .most = 1e6}, &Config::min_snr)
          .add({.name = "min_pixels", .doc = "pixels of a peak", .least = 1, .most = 1e6, .not_above = "max_pixels"},
               &Config::min_pixels)
          .add({.name = "max_pixels", .doc = "pixels of a peak", .least = 1, .most = 1e6}, &Config::max_pixels)
          .add({.name = "local_bg_radius",
                .doc = "radius of the background around a peak, pixels",
                .least = 1,
                .most = 50},
               &Config::local_bg_radius)
          .add(min_radius_parameter(), &Config::min_radius)
          .add(max_radius_parameter(), &Config::max_radius)
          .add(beam_x_parameter(), &Config::beam_x, Need::needed)
          .add(beam_y_parameter(), &Config::beam_y, Need::needed)
          .add({.name = "panel_width",
                .doc = "size of the panels that the image is made of; 0: it is one",
                .least = 0,
                .most = kFarthest},
               &Config::panel_width)
          .add({.name = "panel_height",
                .doc = "size of the panels that the image is made of; 0: it is one",
                .least = 0,
                .most = kFarthest},
               &Config::panel_height)
          .add({.name = "max_peaks", .doc = "room for peaks of an image", .least = 1, .most = kMostTableRows},
               &Config::max_peaks)
          .add(poni_parameter(), &Config::poni)
          .add(geometry_parameter("beam_x, beam_y, panel_width and panel_height"), &Config::geometry);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "peakfinder8",
      .purpose = "finds Bragg peaks over a radial background and lists them",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = image_types()},
      .makes = {{.kind = Port::Kind::scalars, .columns = peaks::numbers()},
                {.kind = Port::Kind::table,
                 .capacity = "max_peaks",
                 .columns = peaks::columns({.intensity = "Sum over the local background",
                                            .snr = "Intensity over the local noise",
                                            .pixels = "Of the peak",
                                            .largest = "Largest value of the peak",
                                            .background = "Local mean"})}},
      .inputs = {radius_input(), panels_input()},
      .units = {"cpu", "opencl", "cuda"},
      .scratch_bytes = 16,
      .device = {
          {.bytes = 6},
          {.bytes = 2, .unit = "cuda"},
          {.bytes = 0.125, .of = DeviceCost::Of::image},
          {.bytes = sizeof(RingLimit), .of = DeviceCost::Of::image, .each = "ring"},
          {.bytes = kCountedRingBytes, .of = DeviceCost::Of::image, .each = "ring", .counted = true, .unit = "cuda"},
          {.bytes = kPeakBytesOnCuda, .of = DeviceCost::Of::image, .each = "max_peaks", .unit = "cuda"}}};
  return declaration;
}

class PeakFinder final : public Step, public Tabling {
 public:
  explicit PeakFinder(const Config& config) : config_(config) { check(config); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat in) const override {
    if (config_.panel_width > shape.width || config_.panel_height > shape.height) {
      throw ConfigError(
          fmt::format("kernel peakfinder8: panel_width, panel_height: a panel of {} × {} pixels is larger than the "
                      "image of {} × {}; make it smaller",
                      config_.panel_width, config_.panel_height, shape.width, shape.height));
    }
    static_cast<void>(rings_of(config_, shape));
    return in;
  }
  [[nodiscard]] std::uint32_t table_capacity() const override { return config_.max_peaks; }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<peaks::Pass<Finder, Config, Rings>>(declared(), config_, setup,
                                                                rings_of(config_, setup.shape));
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<opencl::DevicePass> on_opencl(const Setup& setup,
                                                              const memory::opencl::Device& device) const override {
    const auto look = [](Finder& finder, const opencl::MarkedRings::Seen& seen, PixelFormat format,
                         std::span<Peak> peaks) noexcept {
      static_assert(sizeof(Limit) == sizeof(RingLimit));
      const std::span limits{reinterpret_cast<const Limit*>(seen.limits.data()), seen.limits.size()};
      return finder.find_bright(seen.image, format, limits, seen.marks, peaks);
    };
    return std::make_unique<peaks::OpenclPass<Finder, Config, Rings, decltype(look)>>(
        declared(), config_, setup, rings_of(config_, setup.shape), SnrRounds{config_.min_snr, config_.threshold}, look,
        device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(config_, setup);
  }
#endif

 private:
  Config config_;
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<PeakFinder>(config); }

namespace {

class PeakFinder8 final : public Kernel {
 public:
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] std::shared_ptr<const Step> make(const NamedValues& values, const Given& given) const override {
    Config config = parameters().read(values);
    config.geometry_read = geometry_of(given, "kernel peakfinder8", config.poni, config.geometry);
    return step_of(config);
  }
};

}  // namespace

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PeakFinder8 kernel;
  return kernel;
}

}  // namespace rashpa::kernel::peakfinder8
