// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/peakfinder/peakfinder.hpp"
#include "rashpa/kernel/peaks/peaks_pass.hpp"
#include "rashpa/kernel/rings/counted_rings.hpp"
#include "rashpa/kernel/rings/pixel_geometry.hpp"
#include "rashpa/kernel/rings/ring_limits.hpp"
#include "rashpa/kernel/sigma_clip/device_method.hpp"
#include "rashpa/kernel/sigma_clip/geometry_kernel.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/peakfinder/peakfinder_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/peaks/peaks_opencl.hpp"
#include "rashpa/kernel/rings/rings_opencl.hpp"
#endif

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
      .takes = {.kind = Port::Kind::pixels, .pixels = image_types()},
      .makes = {{.kind = Port::Kind::scalars, .columns = peaks::numbers()},
                {.kind = Port::Kind::table,
                 .capacity = "max_peaks",
                 .columns = peaks::columns({.intensity = "Sum over the background",
                                            .snr = "Intensity over its deviation",
                                            .pixels = "Above the limit",
                                            .largest = "Value in the middle",
                                            .background = "In the middle"})}},
      .inputs = {radius_input(), panels_input()},
      .units = {"cpu", "opencl", "cuda"},
      .scratch_bytes = 15,
      .device = {
          {.bytes = 6},
          {.bytes = 4, .unit = "cuda"},
          {.bytes = 0.125, .of = DeviceCost::Of::image},
          {.bytes = sizeof(RingLimit) + sizeof(float), .of = DeviceCost::Of::image, .each = "bins"},
          {.bytes = kCountedRingBytes, .of = DeviceCost::Of::image, .each = "bins", .counted = true, .unit = "cuda"},
          {.bytes = kPeakBytesOnCuda, .of = DeviceCost::Of::image, .each = "max_peaks", .unit = "cuda"}}};
  return declaration;
}

class PeakFinder final : public Step, public Tabling {
 public:
  explicit PeakFinder(const Config& config) : config_(config) {
    sigma_clip::check(config, kOwner);
    if (config.connected > config.patch * config.patch) {
      throw ConfigError(fmt::format("{}: connected: {} pixels do not fit the square of patch {}; give {} or fewer",
                                    kOwner, config.connected, config.patch, config.patch * config.patch));
    }
  }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat in) const override {
    static_cast<void>(sigma_clip::Radii(config_, shape, kOwner));
    return in;
  }
  [[nodiscard]] std::uint32_t table_capacity() const override { return config_.max_peaks; }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<peaks::Pass<Finder, Config, sigma_clip::Radii>>(
        declared(), config_, setup, sigma_clip::Radii(config_, setup.shape, kOwner));
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<opencl::DevicePass> on_opencl(const Setup& setup,
                                                              const memory::opencl::Device& device) const override {
    const auto look = [](Finder& finder, const opencl::MarkedRings::Seen& seen, PixelFormat format,
                         std::span<Peak> peaks) noexcept {
      return finder.find_marked(seen.image, format, sigma_clip::bins_of(seen.limits), seen.marks, peaks);
    };
    sigma_clip::Radii radii(config_, setup.shape, kOwner);
    const auto clip = sigma_clip::device_method(config_, radii);
    return std::make_unique<peaks::OpenclPass<Finder, Config, sigma_clip::Radii, decltype(look)>>(
        declared(), config_, setup, std::move(radii), clip, look, device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(config_, sigma_clip::Radii(config_, setup.shape, kOwner), setup);
  }
#endif

 private:
  Config config_;
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<PeakFinder>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const sigma_clip::GeometryKernel kernel(declared(), parameters(), kOwner);
  return kernel;
}

}  // namespace rashpa::kernel::peakfinder
