// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/contract/step.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/contract/by_cell.hpp"
#include "rashpa/kernel/jungfrau/assembly/assembly.hpp"
#include "rashpa/kernel/jungfrau/cells.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_fpga.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/jungfrau/jungfrau_pass.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/jungfrau/jungfrau_opencl.hpp"
#endif

namespace rashpa::kernel::jungfrau {

namespace {

/// The run file's value; 0: the energy is the detector's, which the reader of the run file fills in.
struct Settings {
  Output output = Output::photons;
  double photon_energy_kev = 0;
  Borders borders = Borders::raw;
  Tracking::From track = Tracking::From::off;
  std::uint32_t track_images = Tracking{}.images;
  double track_sigma = Tracking{}.sigma;
  double drift_alarm = Tracking{}.alarm;
};

const Parameters<Settings>& parameters() {
  static const auto declared =
      Parameters<Settings>("kernel jungfrau")
          .add({.name = "output", .choices = {"photons", "kev"}}, &Settings::output)
          .add({.name = "photon_energy_kev",
                .doc = "photon energy; that of the detector when not given",
                .least = 0,
                .above = true,
                .taken_from = "detector.energy_kev"},
               &Settings::photon_energy_kev, Need::needed)
          .add({.name = "borders",
                .doc = "pixels of double size between chips. raw: as modules send them. shared: image assembled, their "
                       "counts shared. masked: image assembled, they are masked",
                .choices = {"raw", "shared", "masked"}},
               &Settings::borders)
          .add({.name = "track",
                .doc = "pedestals of G0 follow dark images (darks, next), and pixels without a photon (empty, every): "
                       "from the next image on (next, every) or stack",
                .choices = {"off", "darks", "empty", "next", "every"}},
               &Settings::track)
          .add({.name = "track_images", .doc = "images that the running mean looks back", .least = 2, .most = 100000},
               &Settings::track_images)
          .add({.name = "track_sigma",
                .doc = "track empty, every: no farther from the pedestal, in RMS",
                .least = 0,
                .above = true,
                .most = 100},
               &Settings::track_sigma)
          .add({.name = "drift_alarm",
                .doc = "median drift of the pedestals, in RMS, from which on there is an alarm; 0: none",
                .least = 0,
                .most = 40},
               &Settings::drift_alarm);
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
      .strips = true,
      .calibration = true,
      .inputs = {{.name = "cells",
                  .type = Number::u32,
                  .shape = Input::Shape::values,
                  .needed = false,
                  .doc = "storage cell of each set of pedestals; none: one set for images of every cell"}},
      .units = {"cpu", "cuda", "opencl", "fpga"},
      .offers = {Tap::count, Tap::mark},
      .stack_bytes = 8,
      .device = {{.bytes = 24, .by_set = true},
                 {.bytes = 12, .by_set = true, .when = "track"},
                 {.bytes = 24, .by_set = true, .unit = "cpu"},
                 {.bytes = 12, .by_set = true, .unit = "cpu", .when = "track"},
                 {.bytes = 4, .unit = "cuda", .when = "borders"},
                 {.bytes = 8, .unit = "opencl", .when = "borders"},
                 {.bytes = 4, .of = DeviceCost::Of::image, .when = "borders"}}};
  return declaration;
}

/// Returns the declaration with the columns of the drift.
const Declaration& declared_with_drift() {
  static const Declaration declaration = [] {
    Declaration tracked = declared();
    for (Port& port : tracked.makes) {
      if (port.kind != Port::Kind::scalars) continue;
      port.columns.push_back({.name = "pedestal_drift",
                              .type = Column::Type::f64,
                              .unit = "RMS",
                              .doc = "Median distance of the pedestals from the calibration, as last looked at"});
      port.columns.push_back({.name = "pedestal_drift_worst",
                              .type = Column::Type::f64,
                              .unit = "RMS",
                              .doc = "Of the pixel that is farthest"});
    }
    return tracked;
  }();
  return declaration;
}

Taps taps_of(const Setup& setup) {
  const auto threshold = [](const std::optional<std::int32_t>& value) {
    return static_cast<std::int16_t>(value.value_or(0));
  };
  return {setup.count_at.has_value(), threshold(setup.count_at), setup.mark_at.has_value(), threshold(setup.mark_at)};
}

/// The calibration with the pixels masked that `borders` wants masked.
Config with_borders(const Config& config, const Assembly* assembly) {
  if (assembly == nullptr || config.borders != Borders::masked) return config;
  Config masked = config;
  std::vector<std::uint32_t>& mask = masked.calibration.mask;
  mask.resize(assembly->seen().pixels());
  for (std::size_t pixel = 0; pixel < mask.size(); ++pixel) {
    if (assembly->is_double(pixel)) mask[pixel] |= kUserMasked;
  }
  return masked;
}

class Pass final : public CpuPass, public ByCell {
  static constexpr std::size_t kFollowed =
      16384;  // pixels that are converted, then followed: their tables stay in the caches

 public:
  Pass(const Config& config, std::unique_ptr<const Assembly> assembly, const Setup& setup)
      : assembly_(std::move(assembly)),
        cells_(config),
        sets_(prepared_sets(with_borders(config, assembly_.get()))),
        taps_(taps_of(setup)),
        stack_(setup.stack),
        workers_(setup.workers),
        tracking_(config.tracking),
        leave_darks_(config.tracking.from != Tracking::From::off && setup.only_learned),
        alarm_(config.tracking.alarm),
        counts_(std::size_t{setup.workers} * setup.stack),
        set_of_item_(setup.stack),
        of_set_(setup.workers),
        not_dark_(setup.workers) {
    if (assembly_) assembler_.emplace(*assembly_, config.output, setup.workers);
    if (config.tracking.from != Tracking::From::off) {
      const Config known = with_borders(config, assembly_.get());
      trackers_.reserve(sets_.size());
      for (std::size_t set = 0; set < sets_.size(); ++set) {
        trackers_.emplace_back(config_of_set(known, set), sets_[set], setup.workers);
      }
    }
    for (Chosen& chosen : of_set_) chosen = Chosen(setup.stack);
    for (Chosen& chosen : not_dark_) chosen = Chosen(setup.stack);
  }

  void take_cells(std::span<const std::uint8_t> cells) noexcept override {
    for (std::size_t item = 0; item < cells.size(); ++item) {
      set_of_item_[item] = cells_.set_of(cells[item]);
      if (set_of_item_[item] == Cells::kNoSet) cells_.refuse(cells[item]);
    }
  }
  /// Begins a stack. For a tracker, a stack without images of its set does not exist.
  void begin(std::size_t items) noexcept override {
    std::fill(counts_.begin(), counts_.end(), Counts{});
    const auto last = set_of_item_.begin() + static_cast<std::ptrdiff_t>(items);
    for (std::size_t set = 0; set < trackers_.size(); ++set) {
      if (std::find(set_of_item_.begin(), last, set) == last) continue;
      trackers_[set].begin();
      alarm_.see(trackers_[set].drift());
    }
  }
  void run(unsigned worker, const Items& items, std::size_t first, std::size_t last) noexcept override {
    const Images all{items.count, reinterpret_cast<const std::uint16_t* const*>(items.in),
                     reinterpret_cast<void* const*>(items.out), items.marks,
                     counts_.data() + std::size_t{worker} * stack_ + items.first};
    if (!cells_.named()) return run_set(worker, 0, all, items.dark, first, last);
    // Set after set, the images of its cell. Those of a cell without a set are left as they are: they fail.
    Chosen& chosen = of_set_[worker];
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      const Images images =
          choose(chosen, all, items.dark, [&](std::size_t i) { return set_of_item_[items.first + i] == set; });
      if (images.count == 0) continue;
      run_set(worker, set, images, items.dark == nullptr ? nullptr : chosen.dark.data(), first, last);
      give_back(chosen, images, all);
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    finding.failed = set_of_item_[item] == Cells::kNoSet;
    Counts sum;
    for (unsigned worker = 0; worker < workers_; ++worker) {
      const Counts& counts = counts_[std::size_t{worker} * stack_ + item];
      sum.masked += counts.masked;
      sum.saturated += counts.saturated;
      sum.bright += counts.bright;
    }
    finding.scalars[0] = Scalar::of_count(sum.masked);
    finding.scalars[1] = Scalar::of_count(sum.saturated);
    if (!trackers_.empty()) {
      const Drift drift = finding.failed ? Drift{} : trackers_[set_of_item_[item]].drift();
      finding.scalars[2] = Scalar::of_real(drift.median);
      finding.scalars[3] = Scalar::of_real(drift.worst);
    }
    finding.counted = sum.bright;
  }
  [[nodiscard]] std::string failure() const override { return cells_.failure(); }
  [[nodiscard]] std::string notice() const override { return alarm_.notice(); }

 private:
  /// The images of a stack that are converted.
  struct Chosen {
    Chosen() = default;
    explicit Chosen(std::size_t stack)
        : item(stack), raw(stack), dark(stack), out(stack), marks(stack), counts(stack) {}
    std::vector<std::size_t> item;
    std::vector<const std::uint16_t*> raw;
    std::vector<std::uint8_t> dark;
    std::vector<void*> out;
    std::vector<std::uint64_t*> marks;
    std::vector<Counts> counts;
  };
  /// The images that are `wanted`, with the counts that they have so far. `dark`: which of all are dark, or null.
  template <typename Wanted>
  static Images choose(Chosen& chosen, const Images& all, const std::uint8_t* dark, Wanted wanted) noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < all.count; ++i) {
      if (!wanted(i)) continue;
      chosen.item[count] = i;
      chosen.raw[count] = all.raw[i];
      chosen.dark[count] = dark == nullptr ? std::uint8_t{0} : dark[i];
      chosen.out[count] = all.out[i];
      chosen.marks[count] = all.marks == nullptr ? nullptr : all.marks[i];
      chosen.counts[count] = all.counts[i];
      ++count;
    }
    return {count, chosen.raw.data(), chosen.out.data(), chosen.marks.data(), chosen.counts.data()};
  }
  static void give_back(const Chosen& chosen, const Images& some, const Images& all) noexcept {
    for (std::size_t i = 0; i < some.count; ++i) all.counts[chosen.item[i]] = some.counts[i];
  }
  void convert_set(unsigned worker, std::size_t set, const Images& images, std::size_t first,
                   std::size_t last) noexcept {
    if (assembler_) {
      assembler_->convert(worker, sets_[set], images, first, last);
    } else {
      convert(sets_[set], images, taps_, first, last);
    }
  }
  /// Images [first, last) of `all`.
  static Images some_of(const Images& all, std::size_t first, std::size_t last) noexcept {
    return {last - first, all.raw + first, all.out + first, all.marks == nullptr ? nullptr : all.marks + first,
            all.counts + first};
  }
  /// Converts images up to one that pedestals follow, and follows it, before the images behind it.
  void run_image_by_image(unsigned worker, std::size_t set, const Images& all, const std::uint8_t* dark,
                          std::size_t first, std::size_t last) noexcept {
    std::size_t done = 0;
    for (std::size_t i = 0; i < all.count; ++i) {
      if (dark[i] == 0 && !tracking_.where_empty()) continue;
      const std::size_t until = dark[i] != 0 && leave_darks_ ? i : i + 1;
      if (done < until) convert_set(worker, set, some_of(all, done, until), first, last);
      trackers_[set].follow(worker, {1, all.raw + i, dark + i}, first, last);
      done = i + 1;
    }
    if (done < all.count) convert_set(worker, set, some_of(all, done, all.count), first, last);
    trackers_[set].look_at(worker, first, last);
  }
  /// Converts images of one set, and follows its pedestals. `dark`: which of them are dark; null: none is followed.
  void run_set(unsigned worker, std::size_t set, const Images& all, const std::uint8_t* dark, std::size_t first,
               std::size_t last) noexcept {
    const bool some = leave_darks_ && dark != nullptr && !tracking_.at_once();
    Chosen& lit = not_dark_[worker];
    const Images images = some ? choose(lit, all, dark, [&](std::size_t i) { return dark[i] == 0; }) : all;
    const bool follows = !trackers_.empty() && dark != nullptr;
    const std::size_t together = follows ? kFollowed : last - first;
    for (std::size_t at = first; at < last; at += together) {
      const std::size_t end = std::min(at + together, last);
      if (follows && tracking_.at_once()) {
        run_image_by_image(worker, set, all, dark, at, end);
        continue;
      }
      convert_set(worker, set, images, at, end);
      if (follows) trackers_[set].follow(worker, {all.count, all.raw, dark}, at, end);
    }
    if (some) give_back(lit, images, all);
  }

  std::unique_ptr<const Assembly> assembly_;
  Cells cells_;
  std::vector<Prepared> sets_;  // by cell; one when the calibration has no cells
  std::optional<Assembler> assembler_;
  std::vector<Tracker> trackers_;  // by set; none when pedestals are fixed
  Taps taps_;
  std::uint32_t stack_;
  unsigned workers_;
  Tracking tracking_;
  bool leave_darks_;
  DriftAlarm alarm_;
  std::vector<Counts> counts_;             // [worker][item]
  std::vector<std::uint8_t> set_of_item_;  // of the stack in hand; Cells::kNoSet: it fails
  std::vector<Chosen> of_set_;             // by worker
  std::vector<Chosen> not_dark_;           // by worker
};

class JungfrauStep final : public Step,
                           public Reshaping,
                           public Offering,
                           public Learning,
                           public Splitting,
                           public CellReading,
                           public InHardware {
 public:
  explicit JungfrauStep(Config config) : config_(std::move(config)) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override {
    return tracks() ? declared_with_drift() : declared();
  }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat /*in*/) const override {
    const Calibration& calibration = config_.calibration;
    if (calibration.width != shape.width || calibration.height != shape.height) {
      throw ConfigError(fmt::format(
          "unit: jungfrau's calibration is {} × {} pixels, the buffer's image {} × {}; give maps of its size",
          calibration.width, calibration.height, shape.width, shape.height));
    }
    static_cast<void>(Cells(config_));  // it throws
    if (reads_cells() && config_.tracking.at_once()) {
      throw ConfigError(
          "kernel jungfrau: track: pedestals of storage cells follow from stack to stack; set track = \"darks\" or "
          "\"empty\"");
    }
    if (config_.output == Output::kev) return {PixelType::f32, Masked::not_a_number};
    return {PixelType::i16, Masked::minimum};
  }
  [[nodiscard]] std::unique_ptr<const Reshape> reshape(const Shape& in) const override { return assembly(in); }
  /// Returns true when the pass offers this tap. It offers none of assembled images, whose later steps count for
  /// themselves.
  [[nodiscard]] bool offers(Tap tap) const override {
    return config_.borders == Borders::raw && declared().offers_tap(tap);
  }
  [[nodiscard]] bool reads_cells() const noexcept override { return !config_.cells.empty(); }
  [[nodiscard]] bool learns_from_darks() const override { return tracks(); }
  [[nodiscard]] Keeps keeps() const override {
    if (!tracks()) return Keeps::nothing;
    return config_.tracking.where_empty() ? Keeps::of_images : Keeps::of_darks;
  }
  /// Assembled images have pixels of both sides of a border; the drift of pedestals does not add up; an image of an
  /// unknown cell would fail in each strip.
  [[nodiscard]] std::optional<Strip> strip(const Shape& /*whole*/, const Rows& rows) const override {
    if (config_.borders != Borders::raw || tracks() || reads_cells()) return std::nullopt;
    return Strip{step_of(Config{.photon_energy_kev = config_.photon_energy_kev,
                                .output = config_.output,
                                .calibration = rows_of(config_.calibration, rows)})};
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, assembly(setup.shape), setup);
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const Setup& setup, const memory::opencl::Device& device) const override {
    const auto assembled = assembly(setup.shape);
    return opencl::make_pass(with_borders(config_, assembled.get()), assembled.get(), taps_of(setup), setup, device);
  }
#endif
  [[nodiscard]] std::optional<FpgaTables> on_fpga() const override {
    refuse_cells(config_, "fpga");
    if (config_.borders != Borders::raw) {
      throw ConfigError("unit: unit fpga has no version of the kernel jungfrau that changes borders; use unit cpu");
    }
    if (tracks()) {
      throw ConfigError("unit: unit fpga has no version of the kernel jungfrau that follows pedestals; use unit cpu");
    }
    return fpga_tables(Prepared(config_));
  }
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    const auto assembled = assembly(setup.shape);
    return cuda::make_pass(with_borders(config_, assembled.get()), assembled.get(), taps_of(setup), setup);
  }
#endif

 private:
  [[nodiscard]] bool tracks() const noexcept { return config_.tracking.from != Tracking::From::off; }
  [[nodiscard]] std::unique_ptr<const Assembly> assembly(const Shape& in) const {
    if (config_.borders == Borders::raw) return nullptr;
    const Calibration& calibration = config_.calibration;
    return std::make_unique<Assembly>(in, Shape{calibration.module_width, calibration.module_height}, calibration.parts,
                                      config_.borders);
  }

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
    std::vector<std::uint32_t> cells;
    if (const GivenArray* named = given.array("cells")) {
      const std::span<const std::uint32_t> all = named->as<std::uint32_t>();
      cells.assign(all.begin(), all.end());
    }
    return step_of(
        Config{.photon_energy_kev = settings.photon_energy_kev,
               .output = settings.output,
               .calibration = *given.calibration,
               .borders = settings.borders,
               .tracking = {settings.track, settings.track_images, settings.track_sigma, settings.drift_alarm},
               .cells = std::move(cells)});
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
