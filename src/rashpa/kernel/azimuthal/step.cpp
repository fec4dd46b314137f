// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/azimuthal/profile_sums.hpp"
#include "rashpa/kernel/azimuthal/stack_sums.hpp"
#include "rashpa/kernel/contract/by_item.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/azimuthal/device/azimuthal_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/azimuthal/device/azimuthal_opencl.hpp"
#endif

namespace rashpa::kernel::azimuthal {

namespace {

/// Units of pyFAI, under its names.
enum class Unit : std::uint8_t { q_per_angstrom, q_per_nm, two_theta_deg, two_theta_rad, r_mm };

/// Describes how a pixel lies in bins, in pyFAI's words.
enum class Splitting : std::uint8_t { no, bbox, full };

/// The run file's parameters; the arrays are made from most of them before the kernel is.
struct Settings {
  std::string poni, mask, dark, flat;
  std::int64_t bins = 1000;
  std::int64_t azimuthal_bins = 0;
  Splitting splitting = Splitting::no;
  Unit unit = Unit::q_per_angstrom;
  double radial_min = 0, radial_max = 0;
  double azimuth_min = -180, azimuth_max = 180;
  bool solid_angle = true;
  bool polarization = false;
  double polarization_factor = 0.99;
  Errors errors = Errors::poisson;
  double ring_min = 0, ring_max = 0;
  double min_intensity = 0, max_intensity = 0;
  Added added = Added::none;
  std::int64_t window = 0;
};

const Parameters<Settings>& parameters() {
  using P = Parameter;
  static const auto declared =
      Parameters<Settings>("kernel azimuthal")
          .add(P{.name = "poni", .doc = "geometry: a PONI file", .file = true}, &Settings::poni, Need::needed)
          .add(P{.name = "mask", .doc = "image, not 0: masked; with the gaps of the detector", .file = true},
               &Settings::mask)
          .add(P{.name = "dark", .doc = "image, subtracted", .file = true}, &Settings::dark)
          .add(P{.name = "flat", .doc = "image, divided by", .file = true}, &Settings::flat)
          .add(P{.name = "bins", .doc = "radial", .least = 1, .most = 65000}, &Settings::bins)
          .add(P{.name = "azimuthal_bins", .doc = "0: one-dimensional", .least = 0, .most = 3600},
               &Settings::azimuthal_bins)
          .add(P{.name = "splitting",
                 .doc = "splitting of pixels over bins; no: a pixel is in the bin of its centre",
                 .choices = {"no", "bbox", "full"}},
               &Settings::splitting)
          .add(P{.name = "radial_unit", .choices = {"q_A^-1", "q_nm^-1", "2th_deg", "2th_rad", "r_mm"}},
               &Settings::unit)
          .add(P{.name = "radial_min", .doc = "bound of the radial axis, in radial_unit; both 0: all", .least = 0},
               &Settings::radial_min)
          .add(P{.name = "radial_max", .doc = "bound of the radial axis, in radial_unit; both 0: all", .least = 0},
               &Settings::radial_max)
          .add(P{.name = "azimuth_min", .doc = "degrees; angles are folded into the range", .least = -360, .most = 720},
               &Settings::azimuth_min)
          .add(P{.name = "azimuth_max",
                 .doc = "degrees; a circle above azimuth_min at most",
                 .least = -360,
                 .most = 720},
               &Settings::azimuth_max)
          .add(P{.name = "solid_angle", .doc = "correct for it"}, &Settings::solid_angle)
          .add(P{.name = "polarization", .doc = "correct for it"}, &Settings::polarization)
          .add(P{.name = "polarization_factor", .doc = "1: horizontal", .least = -1, .most = 1},
               &Settings::polarization_factor)
          .add(P{.name = "errors", .choices = {"none", "poisson", "azimuthal"}}, &Settings::errors)
          .add(
              P{.name = "ring_min", .doc = "bound of the ring that is judged, in radial_unit; both 0: all", .least = 0},
              &Settings::ring_min)
          .add(
              P{.name = "ring_max", .doc = "bound of the ring that is judged, in radial_unit; both 0: all", .least = 0},
              &Settings::ring_max)
          .add(P{.name = "min_intensity", .doc = "mean of the ring; 0: any", .least = 0, .live = true},
               &Settings::min_intensity)
          .add(P{.name = "max_intensity", .doc = "mean of the ring; 0: any", .least = 0, .live = true},
               &Settings::max_intensity)
          .add(P{.name = "added",
                 .doc = "profiles summed over images. accepted: those that the pipeline accepts; reached: all that the "
                        "kernels before it let through",
                 .choices = {"none", "accepted", "reached"}},
               &Settings::added)
          .add(P{.name = "window",
                 .doc = "images of such a sum, a multiple of the buffer's stack; 0: the whole run",
                 .least = 0,
                 .most = 2147483648.0},
               &Settings::window);
  return declared;
}

/// Types of columns, as ports have them.
std::vector<Column> summed() {
  std::vector<Column> columns;
  for (const Quantity& one : ProfileSums::quantities()) {
    const bool count = one.type == Quantity::Type::u32;
    columns.push_back({one.name, count ? Column::Type::u32 : Column::Type::f64, one.unit, one.doc});
  }
  return columns;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "azimuthal",
      .purpose = "sums pixels by bins of radius, or radius and azimuth, and keeps an image by the mean of a ring",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = image_types()},
      .makes = {{.kind = Port::Kind::scalars,
                 .columns = {{.name = "ring_intensity",
                              .type = Column::Type::f64,
                              .unit = "photons",
                              .doc = "Mean of the pixels of the ring, corrected"}}},
                {.kind = Port::Kind::profile,
                 .columns = {{.name = "I",
                              .type = Column::Type::f64,
                              .unit = "photons",
                              .doc = "Mean of the bin's pixels, corrected"},
                             {.name = "I_errors",
                              .type = Column::Type::f64,
                              .unit = "photons",
                              .doc = "Standard error of the mean"},
                             {.name = "sum_signal",
                              .type = Column::Type::f64,
                              .unit = "photons",
                              .doc = "Sum of counts, dark subtracted"},
                             {.name = "norm", .type = Column::Type::f64, .doc = "Sum of what pixels are divided by"}},
                 .axes = {{.name = "azimuthal_axis", .unit = "deg", .doc = "Centres of bins; with two dimensions"},
                          {.name = "radial_axis", .doc = "Centres of bins"}},
                 .definition = "NXazint1d"},
                {.kind = Port::Kind::verdict, .reasons = {"ring_too_weak", "ring_too_strong"}},
                {.kind = Port::Kind::accumulation, .columns = summed()}},
      .inputs = {{.name = "bins", .type = Number::u32, .needed = false, .doc = "bin of each pixel; none: it is split"},
                 {.name = "share_ends",
                  .type = Number::u32,
                  .needed = false,
                  .doc = "split pixels: behind the last share of each"},
                 {.name = "share_bins",
                  .type = Number::u32,
                  .shape = Input::Shape::values,
                  .needed = false,
                  .doc = "bin of each share"},
                 {.name = "shares",
                  .type = Number::f32,
                  .shape = Input::Shape::values,
                  .needed = false,
                  .doc = "how much of the pixel lies in that bin"},
                 {.name = "norm", .type = Number::f32, .doc = "what each pixel is divided by"},
                 {.name = "dark", .type = Number::f32, .needed = false, .doc = "what is subtracted of each pixel"},
                 {.name = "radial_axis",
                  .type = Number::f64,
                  .shape = Input::Shape::values,
                  .doc = "centres of the radial bins"},
                 {.name = "azimuthal_axis",
                  .type = Number::f64,
                  .shape = Input::Shape::values,
                  .needed = false,
                  .doc = "centres of the azimuthal bins"}},
      .units = {"cpu", "cuda", "opencl"},
      .stack_bytes = 2,
      .scratch_bytes = 6,
      .device = {{.bytes = 8}, {.bytes = 4, .when = "dark"}, {.bytes = 4, .when = "splitting"}}};
  return declaration;
}

class Pass final : public CpuPass, public Limited, public ByItem {
 public:
  Pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring, std::optional<ProfileSums> summed,
       const Setup& setup)
      : prepared_(prepared),
        ring_(ring),
        format_(setup.in),
        stack_(setup.stack),
        whole_(prepared->errors() == Errors::azimuthal || prepared->bins() > kFewBins ||
               real_sums(*prepared, setup.in)),
        sums_(std::size_t{whole_ ? 1 : setup.workers} * setup.stack, Sums(*prepared, setup.in)),
        scratch_(setup.workers, Scratch(*prepared, setup.in)),
        profiles_(setup.places * kArrays * prepared->bins()),
        place_(setup.stack),
        summed_(std::move(summed)) {
    if (setup.stack < StackSums::kFewest || !StackSums::takes(*prepared, setup.in)) return;
    for (unsigned worker = 0; worker < setup.workers; ++worker) {
      together_.emplace_back(*prepared, setup.in, std::size_t{setup.stack});
    }
  }

  [[nodiscard]] Grain grain() const noexcept override { return whole_ ? Grain::image : Grain::block; }
  void begin(std::size_t items) noexcept override {
    flush();
    items_ = items;
    for (std::size_t at = 0; at < sums_.size(); ++at) {
      if (at % stack_ < items) sums_[at].clear();
    }
  }
  void run(unsigned worker, const Items& items, std::size_t first, std::size_t last) noexcept override {
    Sums* const sums = sums_.data() + (whole_ ? 0 : std::size_t{worker} * stack_) + items.first;
    if (!together_.empty() && items.count == items_) {
      together_[worker].add(items.in, items.count, first, last, scratch_[worker], sums);
    } else {
      for (std::size_t i = 0; i < items.count; ++i) {
        add(*prepared_, items.in[i], format_, first, last, scratch_[worker], sums[i]);
      }
    }
    if (first == 0) std::copy_n(items.place, items.count, place_.data() + items.first);
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    flush();
    Sums& sums = sums_[item];
    for (std::size_t at = item + stack_; at < sums_.size(); at += stack_) sums.add(sums_[at]);
    double* profile = profiles_.data() + place_[item] * kArrays * prepared_->bins();
    azimuthal::finish(*prepared_, sums, profile);
    finding.profile = {profile};
    ring_.judge(profile, prepared_->bins(), finding);
    if (summed_ && finding.verdict == 0) summed_->add(profile);
  }
  void conclude(unsigned /*worker*/, const AccumulatedArrays& to, std::size_t first,
                std::size_t last) noexcept override {
    if (summed_) summed_->conclude(to, first, last);
  }
  void adopt(LimitBytes& limits) noexcept override { ring_.limits = limits_in<Limits>(limits); }

 private:
  /// Joins the workers' sums, once a stack, and skips empty ones.
  void flush() noexcept {
    for (std::size_t worker = 0; worker < together_.size(); ++worker) {
      together_[worker].flush(sums_.data() + worker * stack_, items_);
    }
  }

  std::shared_ptr<const Prepared> prepared_;
  Ring ring_;
  PixelFormat format_;
  std::uint32_t stack_;
  bool whole_;                       // one thread an image
  std::vector<Sums> sums_;           // [worker][item]
  std::vector<Scratch> scratch_;     // by worker
  std::vector<StackSums> together_;  // the same; none where images are summed one by one
  std::size_t items_ = 0;
  std::vector<double> profiles_;  // [place][array][bin]
  std::vector<std::uint32_t> place_;
  std::optional<ProfileSums> summed_;
};

/// Profiles are small, and on the host already.
class ProfileJoin final : public Join {
 public:
  ProfileJoin(std::shared_ptr<const Step> part, std::size_t bins) : part_(std::move(part)), bins_(bins), sums_(bins) {}
  [[nodiscard]] StepOf part() const override { return part_; }
  void join(std::span<const AccumulatedArrays> parts, const AccumulatedArrays& to) noexcept override {
    for (const AccumulatedArrays& one : parts) sums_.add_parts(one);
    sums_.conclude(to, 0, bins_);
  }

 private:
  std::shared_ptr<const Step> part_;
  std::size_t bins_;
  ProfileSums sums_;
};

/// Returns the configuration without its arrays, which are large, and prepared by then.
Config without_arrays(const Config& config) {
  return {.errors = config.errors,
          .radial_axis = config.radial_axis,
          .azimuthal_axis = config.azimuthal_axis,
          .unit = config.unit,
          .width = config.width,
          .ring_min = config.ring_min,
          .ring_max = config.ring_max,
          .min_intensity = config.min_intensity,
          .max_intensity = config.max_intensity,
          .added = config.added,
          .window = config.window};
}

void check(const Limits& limits) {
  if (limits.max_intensity > 0 && limits.min_intensity > limits.max_intensity) {
    throw ConfigError("kernel azimuthal: max_intensity: it is below min_intensity, and no image is kept; raise it");
  }
}

class Azimuthal final : public Step, public Adjustable, public Profiling, public Accumulating, public Joinable {
 public:
  explicit Azimuthal(const Config& config)
      : config_(without_arrays(config)), prepared_(std::make_shared<Prepared>(config)) {
    const std::vector<double>& axis = config_.radial_axis;
    last_ = axis.size();
    if (config_.azimuthal_axis.empty()) declaration_.makes[1].axes.erase(declaration_.makes[1].axes.begin());
    if (!config_.azimuthal_axis.empty()) declaration_.makes[1].definition.clear();
    if (config_.ring_min == 0 && config_.ring_max == 0) return;
    first_ = static_cast<std::size_t>(std::lower_bound(axis.begin(), axis.end(), config_.ring_min) - axis.begin());
    last_ = static_cast<std::size_t>(std::upper_bound(axis.begin(), axis.end(), config_.ring_max) - axis.begin());
    if (first_ >= last_) {
      throw ConfigError(fmt::format(
          "kernel azimuthal: ring_max: no bin lies from {} to {}; choose a range in that of the bins, {} to {}",
          config_.ring_min, config_.ring_max, axis.front(), axis.back()));
    }
  }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat in) const override {
    if (config_.width != shape.width || prepared_->pixels() != shape.pixels()) {
      throw ConfigError(fmt::format(
          "unit: azimuthal's bins are for {} × {} pixels, the images have {} × {}; make the bins for this size",
          config_.width, prepared_->pixels() / config_.width, shape.width, shape.height));
    }
    return in;
  }
  [[nodiscard]] std::vector<Axis> axes() const override {
    std::vector<Axis> axes = declaration_.makes[1].axes;
    axes.back().values = config_.radial_axis;
    axes.back().unit = config_.unit;
    if (axes.size() == 2) axes.front().values = config_.azimuthal_axis;
    return axes;
  }
  [[nodiscard]] std::optional<Accumulation> accumulation(const Shape& /*shape*/, PixelFormat in) const override {
    if (config_.added == Added::none) return std::nullopt;
    Accumulation made{.name = "azimuthal",
                      .quantities = parts() ? ProfileSums::parts() : ProfileSums::quantities(),
                      .shape = {},
                      .axes = axes(),
                      .window = config_.window,
                      .accepted = config_.added == Added::accepted};
    for (Quantity& one : made.quantities) {
      if (in.type == PixelType::f32 && one.unit == "photons") one.unit.clear();  // keV, or else
    }
    for (const Axis& axis : made.axes) made.shape.push_back(static_cast<std::uint32_t>(axis.values.size()));
    return made;
  }
  [[nodiscard]] std::unique_ptr<Join> join(const Shape& /*shape*/, PixelFormat /*in*/) const override {
    auto part = std::make_shared<Azimuthal>(*this);
    part->written_ = ProfileSums::Written::parts;
    return std::make_unique<ProfileJoin>(std::move(part), prepared_->bins());
  }
  [[nodiscard]] LimitBytes limits(const Setup& /*setup*/) const override {
    const Limits limits = ring().limits;
    return limit_bytes(std::span(&limits, 1));
  }
  /// Shares the arrays.
  [[nodiscard]] std::shared_ptr<const Step> with(const NamedValues& values) const override {
    const Settings settings = parameters().read(values);
    auto other = std::make_shared<Azimuthal>(*this);
    other->config_.min_intensity = settings.min_intensity;
    other->config_.max_intensity = settings.max_intensity;
    check(other->ring().limits);
    return other;
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(prepared_, ring(), summed(), setup);
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const Setup& setup, const memory::opencl::Device& device) const override {
    return opencl::make_pass(prepared_, ring(), summed(), setup, device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(prepared_, ring(), summed(), setup);
  }
#endif

 private:
  [[nodiscard]] Ring ring() const noexcept {
    return {first_, last_, config_.radial_axis.size(), {config_.min_intensity, config_.max_intensity}};
  }
  [[nodiscard]] bool parts() const noexcept { return written_ == ProfileSums::Written::parts; }
  [[nodiscard]] std::optional<ProfileSums> summed() const {
    if (config_.added == Added::none) return std::nullopt;
    return ProfileSums(prepared_->bins(), written_);
  }
  Config config_;
  std::shared_ptr<const Prepared> prepared_;
  Declaration declaration_ = declared();
  ProfileSums::Written written_ = ProfileSums::Written::quantities;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
};

class AzimuthalKernel final : public Kernel {
 public:
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] std::shared_ptr<const Step> make(const NamedValues& values, const Given& given) const override {
    constexpr const char* kUnits[] = {"1/angstrom", "1/nm", "deg", "rad", "mm"};
    const Settings settings = parameters().read(values);
    const auto numbers = [&]<typename T>(const char* name, T) {
      const GivenArray* array = given.array(name);
      const std::span<const T> found = array != nullptr ? array->as<T>() : std::span<const T>();
      return std::vector<T>(found.begin(), found.end());
    };
    const bool split = settings.splitting != Splitting::no;
    if (given.array(split ? "share_ends" : "bins") == nullptr) {
      throw ConfigError(fmt::format("kernel azimuthal: array {}: it is needed and not there; give it",
                                    split ? "share_ends" : "bins"));
    }
    if (settings.ring_min > settings.ring_max) {
      throw ConfigError("kernel azimuthal: ring_max: it is below ring_min; give the bounds of one ring");
    }
    check(Limits{settings.min_intensity, settings.max_intensity});
    return step_of(Config{.errors = settings.errors,
                          .radial_axis = numbers("radial_axis", double{}),
                          .azimuthal_axis = numbers("azimuthal_axis", double{}),
                          .unit = kUnits[static_cast<std::size_t>(settings.unit)],
                          .bins = split ? std::vector<std::uint32_t>() : numbers("bins", std::uint32_t{}),
                          .share_ends = split ? numbers("share_ends", std::uint32_t{}) : std::vector<std::uint32_t>(),
                          .share_bins = numbers("share_bins", std::uint32_t{}),
                          .shares = numbers("shares", float{}),
                          .norm = numbers("norm", float{}),
                          .dark = numbers("dark", float{}),
                          .width = static_cast<std::uint32_t>(given.array("norm")->shape().at(1)),
                          .ring_min = settings.ring_min,
                          .ring_max = settings.ring_max,
                          .min_intensity = settings.min_intensity,
                          .max_intensity = settings.max_intensity,
                          .added = settings.added,
                          .window = static_cast<std::uint64_t>(settings.window)});
  }
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<Azimuthal>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const AzimuthalKernel kernel;
  return kernel;
}

}  // namespace rashpa::kernel::azimuthal
