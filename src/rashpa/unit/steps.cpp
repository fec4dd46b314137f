#include "rashpa/unit/steps.hpp"

#include <fmt/core.h>

#include <limits>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame_record.hpp"

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

void add(const jungfrau::Config& config, const Layout& layout, Steps& steps) {
  if (steps.conversion) throw ConfigError("unit: jungfrau is twice in the pipeline; leave one");
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
  steps.conversion = &config;
  steps.converts = true;
  steps.output = config.output == jungfrau::Output::photons ? PixelType::i16 : PixelType::f32;
}

void need_photons(const char* kernel, const Steps& steps) {
  if (!steps.conversion) {
    throw ConfigError(fmt::format("unit: {} needs photons: put jungfrau before it in the pipeline", kernel));
  }
  if (steps.output != PixelType::i16) {
    throw ConfigError(
        fmt::format("unit: {} counts photons, but jungfrau makes keV; set its output to photons", kernel));
  }
}

void add(const bragg_count::Config& config, const Layout& /*layout*/, Steps& steps) {
  if (steps.veto) throw ConfigError("unit: bragg_count is twice in the pipeline; leave one");
  if (steps.compaction) throw ConfigError("unit: bragg_count stands behind csr; put it before");
  need_photons("bragg_count", steps);
  bragg_count::check(config);
  steps.veto = config;
  steps.taps.count = true;
  steps.taps.bright_threshold = config.threshold;
}

void add(const csr::Config& config, const Layout& /*layout*/, Steps& steps) {
  if (steps.compaction) throw ConfigError("unit: csr is twice in the pipeline; leave one");
  need_photons("csr", steps);
  csr::check(config);
  steps.compaction = config;
  steps.taps.mark = true;
  steps.taps.mark_threshold = config.threshold;
}

}  // namespace

Steps steps_of(const Pipeline& pipeline, const Layout& layout) {
  check(layout);
  Steps steps;
  steps.partial = pipeline.partial;
  steps.keep_darks = pipeline.keep_darks;
  steps.output = layout.input;
  for (const KernelConfig& kernel : pipeline.kernels) {
    std::visit([&](const auto& config) { add(config, layout, steps); }, kernel);
  }
  return steps;
}

bool settle_without_work(const Steps& steps, bool stopping, StackImage& image) noexcept {
  image.decision = Decision::none;
  image.reason = VetoReason::none;
  image.bright_pixels = image.masked_pixels = image.saturated_pixels = 0;
  image.pixels = nullptr;
  image.sparse = {};
  const bool arrived = image.completeness == Completeness::complete || image.completeness == Completeness::partial;
  if (!arrived) return true;
  if (stopping) {
    image.decision = Decision::errored;
  } else if ((image.flags & FrameRecord::dark) != 0 && !steps.keep_darks) {
    image.decision = Decision::vetoed;
    image.reason = VetoReason::dark;
  } else if (image.completeness == Completeness::partial && steps.partial == PartialPolicy::veto) {
    image.decision = Decision::vetoed;
    image.reason = VetoReason::partial;
  } else if (!steps.converts) {
    image.decision = Decision::accepted;
    image.pixels = image.raw;
  } else {
    return false;
  }
  return true;
}

}  // namespace rashpa::unit
