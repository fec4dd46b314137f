#include "rashpa/unit/cpu/plan.hpp"

#include <fmt/core.h>

#include <limits>

#include "rashpa/core/error.hpp"

namespace rashpa::unit {

namespace {

namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;
namespace csr = kernel::csr;

void check(const Layout& layout) {
  if (layout.width == 0 || layout.height == 0 || layout.stack == 0 || layout.stacks == 0) {
    throw ConfigError(fmt::format("unit: layout of {} × {} pixels, {} images a stack, {} stacks: none may be 0",
                                  layout.width, layout.height, layout.stack, layout.stacks));
  }
  const std::uint64_t pixels = std::uint64_t{layout.width} * layout.height;
  if (pixels > std::numeric_limits<std::uint32_t>::max()) {
    throw ConfigError(fmt::format("unit: an image of {} × {} pixels is too large; 2^32 − 1 pixels at most",
                                  layout.width, layout.height));
  }
}

void add(const jungfrau::Config& config, const Layout& layout, Plan& plan) {
  if (plan.conversion) throw ConfigError("unit: jungfrau is twice in the pipeline; leave one");
  if (layout.input != PixelType::u16) {
    throw ConfigError(
        fmt::format("unit: jungfrau needs uint16 pixels, the buffer has {}; set the buffer's pixel to uint16",
                    pixel_name(layout.input)));
  }
  const auto& calibration = config.calibration;
  if (calibration.width != layout.width || calibration.height != layout.height) {
    throw ConfigError(
        fmt::format("unit: jungfrau's calibration is {} × {} pixels, the buffer's image {} × {}; they must be equal",
                    calibration.width, calibration.height, layout.width, layout.height));
  }
  plan.conversion.emplace(config);
  plan.output = config.output == jungfrau::Output::photons ? PixelType::i16 : PixelType::f32;
}

void need_photons(const char* kernel, const Plan& plan) {
  if (!plan.conversion) {
    throw ConfigError(fmt::format("unit: {} needs photons: put jungfrau before it in the pipeline", kernel));
  }
  if (plan.output != PixelType::i16) {
    throw ConfigError(
        fmt::format("unit: {} counts photons, but jungfrau makes keV; set its output to photons", kernel));
  }
}

void add(const bragg_count::Config& config, const Layout& /*layout*/, Plan& plan) {
  if (plan.veto) throw ConfigError("unit: bragg_count is twice in the pipeline; leave one");
  if (plan.compaction) throw ConfigError("unit: bragg_count stands behind csr; put it before");
  need_photons("bragg_count", plan);
  bragg_count::check(config);
  plan.veto = config;
  plan.taps.count = true;
  plan.taps.bright_threshold = config.threshold;
}

void add(const csr::Config& config, const Layout& /*layout*/, Plan& plan) {
  if (plan.compaction) throw ConfigError("unit: csr is twice in the pipeline; leave one");
  need_photons("csr", plan);
  csr::check(config);
  plan.compaction = config;
  plan.taps.mark = true;
  plan.taps.mark_threshold = config.threshold;
}

}  // namespace

Plan plan_of(const Pipeline& pipeline, const Layout& layout) {
  check(layout);
  Plan plan;
  plan.partial = pipeline.partial;
  plan.keep_darks = pipeline.keep_darks;
  plan.output = layout.input;
  for (const KernelConfig& kernel : pipeline.kernels) {
    std::visit([&](const auto& config) { add(config, layout, plan); }, kernel);
  }
  return plan;
}

}  // namespace rashpa::unit
