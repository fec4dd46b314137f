// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/step.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_opencl.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/jungfrau/jungfrau_pass.hpp"
#endif

namespace rashpa::kernel::jungfrau {

namespace {

/// What the run file says; 0: the energy is the detector's, which whoever reads the run file fills in.
struct Settings {
  Output output = Output::photons;
  double photon_energy_kev = 0;
};

const Parameters<Settings>& parameters() {
  static const auto declared = Parameters<Settings>("kernel jungfrau")
                                   .add({.name = "output", .choices = {"photons", "kev"}}, &Settings::output)
                                   .add({.name = "photon_energy_kev",
                                         .doc = "that of the detector when not given",
                                         .least = 0,
                                         .above = true,
                                         .taken_from = "detector.energy_kev"},
                                        &Settings::photon_energy_kev, Need::needed);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "jungfrau",
      .purpose = "raw words to photons (int16) or keV (float32)",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = {PixelType::u16}},
      .makes = {{.kind = Port::Kind::pixels, .pixels = {PixelType::i16, PixelType::f32}, .by = "output"},
                {.kind = Port::Kind::scalars,
                 .columns = {{.name = "masked_pixels",
                              .unit = "pixels",
                              .doc = "Pixels without a valid value, lost lines included"},
                             {.name = "saturated_pixels", .unit = "pixels", .doc = "Pixels beyond the largest gain"}}}},
      .calibration = true,
      .units = {"cpu", "cuda", "opencl"},
      .offers = {Tap::count, Tap::mark},
      .stack_bytes = 8,
      .scratch_bytes = 24};
  return declaration;
}

Taps taps_of(const Setup& setup) {
  const auto threshold = [](const std::optional<std::int32_t>& value) {
    return static_cast<std::int16_t>(value.value_or(0));
  };
  return {setup.count_at.has_value(), threshold(setup.count_at), setup.mark_at.has_value(), threshold(setup.mark_at)};
}

class Pass final : public CpuPass {
 public:
  Pass(const Config& config, const Setup& setup)
      : calibration_(config),
        taps_(taps_of(setup)),
        stack_(setup.stack),
        workers_(setup.workers),
        counts_(std::size_t{setup.workers} * setup.stack) {}

  void begin(std::size_t /*items*/) noexcept override { std::fill(counts_.begin(), counts_.end(), Counts{}); }
  void run(unsigned worker, const Items& items, std::size_t first, std::size_t last) noexcept override {
    const Images images{items.count, reinterpret_cast<const std::uint16_t* const*>(items.in),
                        reinterpret_cast<void* const*>(items.out), items.marks,
                        counts_.data() + std::size_t{worker} * stack_ + items.first};
    convert(calibration_, images, taps_, first, last);
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    Counts sum;
    for (unsigned worker = 0; worker < workers_; ++worker) {
      const Counts& counts = counts_[std::size_t{worker} * stack_ + item];
      sum.masked += counts.masked;
      sum.saturated += counts.saturated;
      sum.bright += counts.bright;
    }
    finding.scalars[0] = Scalar::of_count(sum.masked);
    finding.scalars[1] = Scalar::of_count(sum.saturated);
    finding.counted = sum.bright;
  }

 private:
  Prepared calibration_;
  Taps taps_;
  std::uint32_t stack_;
  unsigned workers_;
  std::vector<Counts> counts_;  // [worker][item]
};

class JungfrauStep final : public Step {
 public:
  explicit JungfrauStep(Config config) : config_(std::move(config)) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat /*in*/) const override {
    const Calibration& calibration = config_.calibration;
    if (calibration.width != shape.width || calibration.height != shape.height) {
      throw ConfigError(
          fmt::format("unit: jungfrau's calibration is {} × {} pixels, the buffer's image {} × {}; they must be equal",
                      calibration.width, calibration.height, shape.width, shape.height));
    }
    if (config_.output == Output::kev) return {PixelType::f32, Masked::not_a_number};
    return {PixelType::i16, Masked::minimum};
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, setup);
  }
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const Setup& setup, const memory::opencl::Device& device) const override {
    return opencl::make_pass(config_, taps_of(setup), setup, device);
  }
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(config_, taps_of(setup), setup);
  }
#endif

 private:
  Config config_;
};

class JungfrauKernel final : public Kernel {
 public:
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] std::shared_ptr<const Step> make(const NamedValues& values, const Given& given) const override {
    const Settings settings = parameters().read(values);
    if (given.calibration == nullptr) {
      throw ConfigError("kernel jungfrau: needs pedestal and gain; name them in [dataset.calibration]");
    }
    return step_of(Config{settings.photon_energy_kev, settings.output, *given.calibration});
  }
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<JungfrauStep>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const JungfrauKernel kernel;
  return kernel;
}

}  // namespace rashpa::kernel::jungfrau
