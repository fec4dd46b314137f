// SPDX-License-Identifier: Apache-2.0
/// rashpa_cpu_unit_bench: jungfrau on all threads of the unit, beside a copy past the caches of the same bytes by as
/// many threads. One JSON document of rows {what, value, unit, against, against_value, ratio} on standard output; all
/// things run in turn, values are medians of wall time. --threads, --stack, --modules, --repeats, --tracking 0 | 1.
#include <fmt/core.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../rows.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/memory/team.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
using measured::Row;

constexpr std::uint32_t kModuleWidth = 1024;
constexpr std::uint32_t kModuleHeight = 512;
constexpr std::uint32_t kPitch = 550;  // of modules one below the other, with the gaps of a detector
constexpr double kSwitched = 0.001;    // of the pixels, as in recorded frames

struct Options {
  unsigned threads = 2;
  std::uint32_t stack = 16;
  std::uint32_t modules = 8;
  std::size_t repeats = 15;
  bool tracking = true;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) throw ConfigError(fmt::format("rashpa_cpu_unit_bench: {} needs a value", name));
    const auto value = std::stoul(argv[i + 1]);
    if (name == "--threads") {
      options.threads = static_cast<unsigned>(value);
    } else if (name == "--stack") {
      options.stack = static_cast<std::uint32_t>(value);
    } else if (name == "--modules") {
      options.modules = static_cast<std::uint32_t>(value);
    } else if (name == "--repeats") {
      options.repeats = value;
    } else if (name == "--tracking") {
      options.tracking = value != 0;
    } else {
      throw ConfigError(fmt::format(
          "rashpa_cpu_unit_bench: unknown option {}; there are --threads, --stack, --modules, --repeats, --tracking",
          name));
    }
  }
  if (options.stack == 0 || options.modules == 0 || options.repeats == 0) {
    throw ConfigError("rashpa_cpu_unit_bench: --stack, --modules and --repeats must be at least 1");
  }
  return options;
}

/// A stack of images with modules one below the other; the calibration of one module for all of them.
class Data {
 public:
  Data(const Options& options, std::uint32_t pitch)
      : height_(pitch * (options.modules - 1) + kModuleHeight),
        ring_(kModuleWidth, height_, options.stack, 1, memory::MemoryKind::huge) {
    const auto module = jungfrau::synthetic::config(kModuleWidth, kModuleHeight, jungfrau::Output::photons, 1);
    const std::size_t one = std::size_t{kModuleWidth} * kModuleHeight;
    const std::size_t pixels = std::size_t{kModuleWidth} * height_;
    config_ = module;
    auto& maps = config_.calibration;
    maps = {kModuleWidth, height_, std::vector<float>(3 * pixels), std::vector<float>(3 * pixels, 1.0F)};
    maps.mask.assign(pixels, 1);
    maps.rms.assign(pixels, 24.0F);
    maps.module_width = kModuleWidth;
    maps.module_height = kModuleHeight;
    for (std::uint32_t m = 0; m < options.modules; ++m) {
      const std::size_t at = std::size_t{m} * pitch * kModuleWidth;
      for (std::size_t gain = 0; gain < 3; ++gain) {
        std::copy_n(module.calibration.pedestal.data() + gain * one, one, maps.pedestal.data() + gain * pixels + at);
        std::copy_n(module.calibration.gain.data() + gain * one, one, maps.gain.data() + gain * pixels + at);
      }
      std::copy_n(module.calibration.mask.data(), one, maps.mask.data() + at);
      maps.parts.push_back({m, {0, 0, kModuleWidth, kModuleHeight}, 0, m * pitch});
    }
    for (std::uint32_t i = 0; i < options.stack; ++i) {
      const auto frame = jungfrau::synthetic::frame(module, kSwitched, i);
      for (std::uint32_t m = 0; m < options.modules; ++m) {
        std::memcpy(images()[i].raw + std::size_t{m} * pitch * kModuleWidth * 2, frame.data(), one * 2);
      }
    }
  }
  std::vector<StackImage>& images() { return ring_.all[0].images; }
  Stack& stack() { return ring_.all[0]; }
  [[nodiscard]] const Layout& layout() const { return ring_.layout; }
  [[nodiscard]] const jungfrau::Config& config() const { return config_; }
  [[nodiscard]] std::size_t image_bytes() const { return std::size_t{kModuleWidth} * height_ * 2; }

 private:
  std::uint32_t height_;
  StackRing ring_;
  jungfrau::Config config_;
};

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  for (std::size_t at = 0; at + 64 <= bytes; at += 64) {
    for (std::size_t v = 0; v < 64; v += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + v),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + v)));
    }
  }
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

/// The floor: an image a task.
class Copy final {
 public:
  Copy(Data& data, unsigned threads)
      : data_(&data),
        out_(data.images().size() * data.layout().image_stride, memory::MemoryKind::huge),
        team_(threads - 1, -1, "copy") {}
  void once() {
    team_.run(static_cast<std::uint32_t>(4 * data_->images().size()),
              [this](unsigned /*worker*/, std::uint32_t task) noexcept { copy(task); });
  }

 private:
  void copy(std::uint32_t task) noexcept {
    const std::size_t quarter = data_->image_bytes() / 4 / 64 * 64;
    const std::size_t first = task % 4 * quarter;
    copy_past_caches(out_.data() + task / 4 * data_->layout().image_stride + first,
                     data_->images()[task / 4].raw + first, quarter);
  }

  Data* data_;
  memory::Buffer out_;
  memory::Team team_;
};

class Converter {
 public:
  Converter(Data& data, const jungfrau::Config& config, unsigned threads)
      : Converter(data, Pipeline{.kernels = {config}}, threads) {}
  Converter(Data& data, const Pipeline& pipeline, unsigned threads)
      : data_(&data), unit_(make_unit({.cores = {threads, -1}}, pipeline, data.layout(), bell_)) {}
  void once() {
    const std::uint32_t seen = bell_.count();
    unit_->submit(&data_->stack());
    while (unit_->take() == nullptr) bell_.wait(seen, std::chrono::seconds(1));
  }

 private:
  Data* data_;
  Doorbell bell_;
  std::unique_ptr<Unit> unit_;
};

/// Median seconds of each piece of work, run in turn.
std::vector<double> medians(std::size_t repeats, const std::vector<std::function<void()>>& works) {
  std::vector<std::vector<double>> seconds(works.size());
  for (const auto& work : works) work();
  for (std::size_t r = 0; r < repeats; ++r) {
    for (std::size_t w = 0; w < works.size(); ++w) {
      const std::int64_t begin = now_ns();
      works[w]();
      seconds[w].push_back(static_cast<double>(now_ns() - begin) * 1e-9);
    }
  }
  std::vector<double> result;
  for (auto& s : seconds) {
    std::nth_element(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2), s.end());
    result.push_back(s[s.size() / 2]);
  }
  return result;
}

/// To photons, as modules send them and assembled.
std::vector<Row> conversions(const Options& options) {
  Data data(options, kModuleHeight);
  Data apart(options, kPitch);
  auto kev = data.config();
  kev.output = jungfrau::Output::kev;
  auto shared = apart.config();
  shared.borders = jungfrau::Borders::shared;
  Copy floor(data, options.threads);
  Converter photons(data, data.config(), options.threads);
  Converter energies(data, kev, options.threads);
  Converter assembled(apart, shared, options.threads);
  const auto s = medians(options.repeats, {[&] { floor.once(); }, [&] { photons.once(); }, [&] { energies.once(); },
                                           [&] { assembled.once(); }});
  // of the pixels of modules: what is between them in the buffer is no data
  const double raw = static_cast<double>(options.stack) * options.modules * kModuleWidth * kModuleHeight * 2;
  const auto speed = [&](double seconds) { return raw / seconds * 1e-9; };
  const auto line = [&](const char* what, double seconds) {
    return Row{fmt::format("{}, {} module(s), stack of {}, {} threads, raw bytes a second", what, options.modules,
                           options.stack, options.threads),
               speed(seconds), "GB/s", "copy past the caches of the raw bytes", speed(s[0])};
  };
  return {line("jungfrau to photons", s[1]), line("jungfrau to keV", s[2]),
          line("jungfrau to photons, assembled with gaps, counts shared", s[3])};
}

/// What it costs to follow darks: one image of the stack is dark, in both cases.
std::vector<Row> tracking(const Options& options, std::uint32_t stacks_a_dark) {
  Data data(options, kModuleHeight);
  auto tracked = data.config();
  tracked.tracking.from = jungfrau::Tracking::From::darks;
  Converter plain(data, data.config(), options.threads);
  Converter follows(data, tracked, options.threads);
  const auto rounds = [&](Converter& converter) {
    for (std::uint32_t i = 0; i < stacks_a_dark; ++i) {
      data.images()[options.stack / 2].flags = i == 0 ? std::uint32_t{FrameRecord::dark} : 0U;
      converter.once();
    }
  };
  const auto s = medians(options.repeats, {[&] { rounds(plain); }, [&] { rounds(follows); }});
  return {{fmt::format("jungfrau with pedestals that follow darks, one in {} images, {} module(s), stack of {}, {} "
                       "threads, time",
                       options.stack * stacks_a_dark, options.modules, options.stack, options.threads),
           s[1] * 1e3, "ms", "without", s[0] * 1e3}};
}

/// Rings around the middle of the image, every pixel in one.
kernel::azimuthal::Config rings(const Layout& layout) {
  kernel::azimuthal::Config config{.errors = kernel::azimuthal::Errors::poisson};
  constexpr std::size_t kBins = 1000;
  const double x = layout.width / 2.0, y = layout.height / 2.0, most = std::hypot(x, y) + 1;
  config.width = layout.width;
  for (std::size_t bin = 0; bin < kBins; ++bin) config.radial_axis.push_back(static_cast<double>(bin));
  for (std::uint32_t row = 0; row < layout.height; ++row) {
    for (std::uint32_t column = 0; column < layout.width; ++column) {
      config.bins.push_back(static_cast<std::uint32_t>(std::hypot(column - x, row - y) / most * kBins));
    }
  }
  config.norm.assign(config.bins.size(), 1);
  return config;
}

/// Conversion, integration and a count as one pipeline, and as three that each go over the whole stack.
std::vector<Row> stages(const Options& options) {
  Data data(options, kModuleHeight);
  const auto azimuthal = rings(data.layout());
  const kernel::bragg_count::Config bragg{.threshold = 5, .min_pixels = 0};
  const Pipeline pipeline{.kernels = {data.config(), azimuthal, bragg}};
  Pipeline separate = pipeline;
  separate.passes = Passes::separate;
  Copy floor(data, options.threads);
  Converter together(data, pipeline, options.threads);
  Converter apart(data, separate, options.threads);
  Converter photons(data, data.config(), options.threads);
  const auto s = medians(options.repeats, {[&] { floor.once(); }, [&] { photons.once(); }, [&] { apart.once(); },
                                           [&] { together.once(); }});
  const double raw = static_cast<double>(options.stack) * static_cast<double>(data.image_bytes());
  const auto line = [&](const char* what, double seconds, const char* against, double other) {
    return Row{fmt::format("{}, {} module(s), stack of {}, {} threads, raw bytes a second", what, options.modules,
                           options.stack, options.threads),
               raw / seconds * 1e-9, "GB/s", against, raw / other * 1e-9};
  };
  return {line("convert + integrate + count in one pipeline", s[3], "three passes over whole images", s[2]),
          line("convert + integrate + count in one pipeline", s[3], "copy past the caches of the raw bytes", s[0]),
          line("convert alone", s[1], "copy past the caches of the raw bytes", s[0])};
}

}  // namespace
}  // namespace rashpa::unit

int main(int argc, char** argv) {
  try {
    const auto options = rashpa::unit::parse(argc, argv);
    auto rows = rashpa::unit::stages(options);
    for (auto& line : rashpa::unit::conversions(options)) rows.push_back(std::move(line));
    for (const std::uint32_t stacks : {1U, 6U}) {
      if (!options.tracking) break;
      for (auto& line : rashpa::unit::tracking(options, stacks)) rows.push_back(std::move(line));
    }
    rashpa::measured::print_document(rows);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
