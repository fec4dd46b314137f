// SPDX-License-Identifier: Apache-2.0
/// Pipelines on arrays of images. Images are read where they lie, results are views of the memory that they were made
/// in; a pipeline takes new memory when somebody still looks at its last results.
#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/engine/buffer_spec.hpp"
#include "bindings/kernel.hpp"
#include "bindings/names.hpp"
#include "bindings/pixels.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/offline/recorder.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using offline::Images;
using offline::Runner;

namespace {

using ImageArray = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;
template <typename T>
using PerImage = std::optional<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

/// The results of a pipeline for the images of one call. Keeps the memory of the results, and of the images.
class Found {
 public:
  Found(std::shared_ptr<Runner> runner, nb::object source)
      : runner_(std::move(runner)),
        source_(std::move(source)),
        width_(runner_->output().width),
        height_(runner_->output().height) {
    for (const Stack& stack : runner_->results()) {
      for (const StackImage& image : stack.view()) images_.push_back(&image);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return images_.size(); }
  [[nodiscard]] const Results& results() const noexcept { return runner_->output().results; }
  [[nodiscard]] std::vector<std::string> reasons() const { return results().reasons.names(); }
  /// Returns which values of pixels() are no counts.
  [[nodiscard]] std::string masked() const { return kMasked.name(runner_->output().masked); }
  /// Returns where counts of pixels() end; none: with the type.
  [[nodiscard]] std::optional<std::int64_t> largest_count() const {
    const std::int64_t largest = runner_->output().largest_count;
    return largest == kNoLargestCount ? std::nullopt : std::optional(largest);
  }

  template <typename T>
  [[nodiscard]] AnyArray each(T (*value)(const StackImage&)) const {
    std::vector<T> values(images_.size());
    std::transform(images_.begin(), images_.end(), values.begin(), [&](const StackImage* one) { return value(*one); });
    return array_of(std::move(values));
  }

  [[nodiscard]] nb::dict columns() const {
    nb::dict out;
    for (std::size_t c = 0; c < results().columns.size(); ++c) {
      const Column& column = results().columns[c];
      out[nb::str(column.name.c_str())] =
          column_of(column.type, images_.size(), [&](std::size_t i) { return images_[i]->scalars[c]; });
    }
    return out;
  }

  /// Returns the pixels of the accepted images, in order, [image][height][width]; none when the pipeline makes lists in
  /// place of pixels.
  [[nodiscard]] std::optional<AnyArray> pixels() const {
    if (!runner_->output().pixels) return std::nullopt;
    std::vector<const std::byte*> accepted;
    for (const StackImage* image : images_) {
      if (image->decision == Decision::accepted) accepted.push_back(image->pixels);
    }
    const PixelType type = runner_->output().pixel;
    const std::size_t bytes = pixel_bytes(type);
    const std::size_t image_bytes = bytes * width_ * height_;
    const std::ptrdiff_t stride =
        accepted.size() > 1 ? accepted[1] - accepted[0] : static_cast<std::ptrdiff_t>(image_bytes);
    bool regular = !accepted.empty() && stride % static_cast<std::ptrdiff_t>(bytes) == 0;
    for (std::size_t i = 1; i < accepted.size(); ++i) regular &= accepted[i] - accepted[i - 1] == stride;
    if (!regular) return array_of(copy(accepted, image_bytes), {accepted.size(), height_, width_}, dtype_of(type));
    const auto* owner = new Owner{runner_, source_};
    const nb::capsule keeper(owner, [](void* at) noexcept { delete static_cast<Owner*>(at); });
    auto* first = const_cast<std::byte*>(
        accepted[0]);  // NOLINT(cppcoreguidelines-pro-type-const-cast): marked read-only by Python
    return AnyArray(first, {accepted.size(), height_, width_}, keeper,
                    {stride / static_cast<std::ptrdiff_t>(bytes), static_cast<std::int64_t>(width_), 1},
                    dtype_of(type));
  }

  /// First entry of each image and behind the last, indices, values; none when the pipeline makes no lists.
  [[nodiscard]] std::optional<nb::tuple> lists() const {
    if (runner_->output().list_capacity == 0) return std::nullopt;
    std::vector<std::uint64_t> first{0};
    for (const StackImage* image : images_) first.push_back(first.back() + list_of(*image).count);
    const PixelType type = runner_->output().pixel;
    const std::size_t bytes = pixel_bytes(type);
    std::vector<std::uint32_t> index(first.back());
    std::vector<std::byte> value(first.back() * bytes);
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const SparseView list = list_of(*images_[i]);
      if (list.count == 0) continue;
      std::memcpy(index.data() + first[i], list.index, list.count * sizeof(std::uint32_t));
      std::memcpy(value.data() + first[i] * bytes, list.value, list.count * bytes);
    }
    const std::size_t entries = first.back();
    return nb::make_tuple(array_of(std::move(first)), array_of(std::move(index)),
                          array_of(std::move(value), {entries}, dtype_of(type)));
  }

  /// Returns each table by its name: where each image's rows begin, with the end of the last ones, and the columns by
  /// name.
  [[nodiscard]] nb::dict tables() const {
    nb::dict out;
    for (std::size_t t = 0; t < results().tables.size(); ++t) {
      const Table& table = results().tables[t];
      const std::size_t columns = table.columns.size();
      std::vector<std::uint64_t> first{0};
      std::vector<const Scalar*> rows;
      for (const StackImage* image : images_) {
        const TableView view = image->decision == Decision::accepted ? image->tables[t] : TableView{};
        for (std::uint32_t r = 0; r < view.rows; ++r) rows.push_back(view.values + r * columns);
        first.push_back(rows.size());
      }
      nb::dict named;
      for (std::size_t c = 0; c < columns; ++c) {
        named[nb::str(table.columns[c].name.c_str())] =
            column_of(table.columns[c].type, rows.size(), [&](std::size_t r) { return rows[r][c]; });
      }
      out[nb::str(table.name.c_str())] = nb::make_tuple(array_of(std::move(first)), named);
    }
    return out;
  }

  /// Returns each profile by its name: its arrays by name, [image][bins], with NaN for images that are not accepted,
  /// and its axes by name, the slow one first.
  [[nodiscard]] nb::dict profiles() const {
    nb::dict out;
    for (std::size_t p = 0; p < results().profiles.size(); ++p) {
      const Profile& profile = results().profiles[p];
      nb::dict arrays, axes;
      for (std::size_t a = 0; a < profile.arrays.size(); ++a) {
        arrays[nb::str(profile.arrays[a].name.c_str())] = profile_array(p, a);
      }
      for (const Axis& axis : profile.axes)
        axes[nb::str(axis.name.c_str())] = array_of(std::vector<double>(axis.values));
      out[nb::str(profile.name.c_str())] = nb::make_tuple(arrays, axes);
    }
    return out;
  }

  /// Returns what kernels accumulated, by kernel and quantity: [window][elements] of the windows that ended in these
  /// images or with them; and, by kernel, how many images each window has added up.
  [[nodiscard]] nb::dict accumulated() const {
    nb::dict out;
    for (std::size_t a = 0; a < results().accumulations.size(); ++a) {
      const Accumulation& facts = results().accumulations[a];
      std::vector<AccumulatedView> windows;
      for (const Stack& stack : runner_->results()) {
        if (stack.accumulated[a].ended()) windows.push_back(stack.accumulated[a]);
      }
      if (runner_->open()[a].ended()) windows.push_back(runner_->open()[a]);
      nb::dict named;
      for (std::size_t q = 0; q < facts.quantities.size(); ++q) {
        named[nb::str(facts.quantities[q].name.c_str())] = quantity_of(facts, q, windows);
      }
      std::vector<std::uint64_t> images;
      images.reserve(windows.size());
      for (const AccumulatedView& window : windows) images.push_back(window.images);
      named["images"] = array_of(std::move(images));
      out[nb::str(facts.name.c_str())] = named;
    }
    return out;
  }

  [[nodiscard]] AnyArray profile_array(std::size_t number, std::size_t array) const {
    const Profile& profile = results().profiles[number];
    const std::size_t bins = profile.bins();
    std::vector<std::size_t> shape{images_.size()};
    for (const Axis& axis : profile.axes) shape.push_back(axis.values.size());
    std::vector<double> values(images_.size() * bins, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const double* found = images_[i]->decision == Decision::accepted ? images_[i]->profiles[number].values : nullptr;
      if (found != nullptr) std::copy_n(found + array * bins, bins, values.data() + i * bins);
    }
    return array_of(std::move(values), shape);
  }

  /// Returns the number of each errored image, and why it failed.
  [[nodiscard]] nb::dict failures() const {
    nb::dict out;
    for (std::size_t i = 0; i < images_.size(); ++i) {
      if (images_[i]->decision == Decision::errored) out[nb::int_(i)] = runner_->failure(images_[i]->failed_in);
    }
    return out;
  }

 private:
  struct Owner {
    std::shared_ptr<Runner> runner;
    nb::object source;
  };
  static AnyArray quantity_of(const Accumulation& facts, std::size_t q, const std::vector<AccumulatedView>& windows) {
    const Quantity::Type type = facts.quantities[q].type;
    std::vector<const std::byte*> values;
    values.reserve(windows.size());
    for (const AccumulatedView& window : windows) values.push_back(window.values[q]);
    std::vector<std::size_t> shape{windows.size()};
    shape.insert(shape.end(), facts.shape.begin(), facts.shape.end());
    const auto dtype = with_type(type, []<typename T>(T) { return nb::dtype<T>(); });
    return array_of(copy(values, facts.elements() * bytes_of(type)), shape, dtype);
  }
  static SparseView list_of(const StackImage& image) noexcept {
    return image.decision == Decision::accepted ? image.sparse : SparseView{};
  }
  static std::vector<std::byte> copy(const std::vector<const std::byte*>& images, std::size_t bytes) {
    std::vector<std::byte> data(images.size() * bytes);
    for (std::size_t i = 0; i < images.size(); ++i) std::memcpy(data.data() + i * bytes, images[i], bytes);
    return data;
  }

  std::shared_ptr<Runner> runner_;
  nb::object source_;  // the array: without a kernel that makes pixels, they are its own
  std::uint32_t width_;
  std::uint32_t height_;
  std::vector<const StackImage*> images_;
};

template <typename Array>
auto per_image(const char* what, const Array& values, std::size_t count) {
  if (values.shape(0) != count) {
    throw ConfigError(
        fmt::format("pipeline: {} has {} values for {} images; give one for each image", what, values.shape(0), count));
  }
  return values.data();
}

/// Throws ConfigError when they are others than a pipeline was made for.
Images images_of(const ImageArray& images, std::uint32_t width, std::uint32_t height, PixelType pixel) {
  const PixelType type = pixel_of("pipeline", images.dtype());
  if (type != pixel || images.shape(2) != width || images.shape(1) != height) {
    throw ConfigError(
        fmt::format("pipeline: it takes images of {} × {} pixels of {}, and got {} × {} of {}; give images of its size "
                    "and type, or make a pipeline for these",
                    width, height, pixel_name(pixel), images.shape(2), images.shape(1), pixel_name(type)));
  }
  const bool gaps =
      (width > 1 && images.stride(2) != 1) || (height > 1 && images.stride(1) != static_cast<std::int64_t>(width));
  if (gaps || reinterpret_cast<std::uintptr_t>(images.data()) % pixel_bytes(type) != 0) {
    throw ConfigError("pipeline: the pixels of an image must lie one after the other; take a copy, images.copy()");
  }
  return {.first = static_cast<const std::byte*>(images.data()),
          .stride = images.stride(0) * static_cast<std::ptrdiff_t>(pixel_bytes(type)),
          .count = images.shape(0)};
}

/// A pipeline with its unit, which is made for as many images as the largest call had.
class Pipeline {
 public:
  explicit Pipeline(offline::Config config) : config_(std::move(config)), runner_(make(1)) {
    how_ = runner_->how();
    pixel_ = kPixels.name(runner_->output().pixel);
  }
  ~Pipeline() {
    // Its threads may wait for a function in Python.
    const nb::gil_scoped_release release;
    runner_.reset();
  }

  [[nodiscard]] Found run(const ImageArray& images, const PerImage<std::uint64_t>& frame_number,
                          const PerImage<std::uint32_t>& flags) {
    Images given = images_of(images, config_.width, config_.height, config_.pixel);
    if (frame_number) given.frame_number = per_image("frame_number", *frame_number, given.count);
    if (flags) given.flags = per_image("flags", *flags, given.count);
    std::shared_ptr<Runner> runner;
    {
      const nb::gil_scoped_release release;
      const std::lock_guard lock(busy_);
      if (runner_ == nullptr || runner_.use_count() > 1 || runner_->room() < given.count) {
        const std::size_t room = runner_ == nullptr ? given.count : std::max(given.count, runner_->room());
        runner_.reset();  // before the next takes memory
        runner_ = make(room);
      }
      runner_->run(given);
      runner = runner_;
    }
    return {std::move(runner), nb::cast(images)};
  }

  [[nodiscard]] const std::string& how() const noexcept { return how_; }
  [[nodiscard]] const std::string& pixel() const noexcept { return pixel_; }

 private:
  [[nodiscard]] std::shared_ptr<Runner> make(std::size_t images) const {
    offline::Config config = config_;
    config.stacks = static_cast<std::uint32_t>(std::max<std::size_t>((images + config.stack - 1) / config.stack, 1));
    return std::make_shared<Runner>(config);
  }

  offline::Config config_;
  std::mutex busy_;
  std::shared_ptr<Runner> runner_;  // null: no memory for the last call
  std::string how_;
  std::string pixel_;
};

offline::Config config_of(const std::vector<ConfiguredKernel>& kernels, std::uint32_t width, std::uint32_t height,
                          const std::string& pixel, const std::string& unit, unsigned threads, std::uint32_t stack,
                          const std::string& device, const std::string& trigger, bool keep_darks, bool fused,
                          const std::vector<SpecialValue>& special, const std::optional<std::string>& masked,
                          std::optional<std::int64_t> largest_count) {
  offline::Config config{.width = width, .height = height, .pixel = kPixels.value(pixel), .stack = stack};
  config.unit.kind = unit::kind_of(unit);
  config.unit.cores.threads = threads;
  config.unit.device = device;
  config.unit.trigger = unit::trigger_of(trigger);
  for (const ConfiguredKernel& kernel : kernels) config.pipeline.kernels.emplace_back(kernel.step);
  config.pipeline.keep_darks = keep_darks;
  config.pipeline.passes = fused ? unit::Passes::fused : unit::Passes::separate;
  config.largest_count = largest_count_of(config.pixel, special);
  if (largest_count) config.largest_count = std::min(config.largest_count, *largest_count);
  if (masked) config.masked = kMasked.value(*masked);
  if (stack == 0) throw ConfigError("pipeline: stack: 0 images at a time are not possible; give 1 or more");
  return config;
}

using LostLines = nb::ndarray<const std::uint32_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

/// Throws ConfigError unless `first` leads through all rows of `lost`.
std::vector<LostRun> lost_runs_of(
    const nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& first, const LostLines& lost,
    std::size_t images) {
  const std::uint64_t* const begin = first.data();
  const bool whole = first.shape(0) == images + 1 && begin[0] == 0 && begin[images] == lost.shape(0);
  if (!whole || !std::is_sorted(begin, begin + images + 1)) {
    throw ConfigError(
        fmt::format("lost_first: {} numbers do not lead through {} lost runs of {} images; give the first run of each "
                    "image, and the "
                    "number of runs at the end",
                    first.shape(0), lost.shape(0), images));
  }
  std::vector<LostRun> runs;
  for (std::size_t i = 0; i < lost.shape(0); ++i) {
    const std::uint32_t* const run = lost.data() + 3 * i;
    runs.push_back({.dtp = run[0], .first_line = run[1], .lines = run[2]});
  }
  return runs;
}

/// A buffer's pipeline and sinks without a receiver.
class Recorder {
 public:
  Recorder(const receiver::BufferConfig& config, std::uint32_t run)
      : config_(config), recorder_(std::make_unique<offline::Recorder>(config, run)) {}

  ~Recorder() {
    // Its threads may wait for a function in Python.
    const nb::gil_scoped_release release;
    recorder_.reset();
  }

  void process(const ImageArray& images, const PerImage<std::uint64_t>& frame_number,
               const PerImage<std::uint64_t>& timestamp_ns, const PerImage<std::uint32_t>& flags,
               const PerImage<std::uint8_t>& completeness, const PerImage<std::uint64_t>& lost_first,
               const std::optional<LostLines>& lost) {
    Images given = images_of(images, config_.width, config_.height, config_.pixel);
    std::vector<LostRun> runs;
    if (lost_first && lost) {
      runs = lost_runs_of(*lost_first, *lost, given.count);
      given.lost_first = lost_first->data();
      given.lost = runs.data();
    }
    if (frame_number) given.frame_number = per_image("frame_number", *frame_number, given.count);
    if (timestamp_ns) given.timestamp_ns = per_image("timestamp_ns", *timestamp_ns, given.count);
    if (flags) given.flags = per_image("flags", *flags, given.count);
    std::vector<Completeness> states;
    if (completeness) {
      const std::uint8_t* values = per_image("completeness", *completeness, given.count);
      for (std::size_t i = 0; i < given.count; ++i) states.push_back(static_cast<Completeness>(values[i] & 3U));
      given.completeness = states.data();
    }
    const nb::gil_scoped_release release;
    recorder_->process(given);
  }
  void begin() { recorder_->begin(); }
  void finish() { recorder_->finish(); }
  [[nodiscard]] receiver::BufferStatus status() const { return recorder_->status(); }
  [[nodiscard]] std::size_t device_bytes() const noexcept { return recorder_->device_bytes(); }

 private:
  receiver::BufferConfig config_;
  std::unique_ptr<offline::Recorder> recorder_;
};

}  // namespace

void bind_offline(nb::module_& m) {
  nb::class_<Found>(m, "Found")
      .def_prop_ro("size", &Found::size)
      .def_prop_ro(
          "decision",
          [](const Found& f) {
            return f.each<std::uint8_t>([](const StackImage& i) { return std::uint8_t(i.decision); });
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "reason",
          [](const Found& f) {
            return f.each<std::uint8_t>([](const StackImage& i) { return std::uint8_t(i.reason); });
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "measured",
          [](const Found& f) {
            return f.each<std::uint8_t>([](const StackImage& i) { return std::uint8_t(i.measured); });
          },
          nb::rv_policy::automatic)
      .def_prop_ro("reasons", &Found::reasons)
      .def_prop_ro("masked", &Found::masked)
      .def_prop_ro("largest_count", &Found::largest_count)
      .def_prop_ro("columns", &Found::columns, nb::rv_policy::automatic)
      .def_prop_ro("pixels", &Found::pixels, nb::rv_policy::automatic)
      .def_prop_ro("lists", &Found::lists, nb::rv_policy::automatic)
      .def_prop_ro("tables", &Found::tables, nb::rv_policy::automatic)
      .def_prop_ro("profiles", &Found::profiles, nb::rv_policy::automatic)
      .def_prop_ro("accumulated", &Found::accumulated, nb::rv_policy::automatic)
      .def_prop_ro("failures", &Found::failures, nb::rv_policy::automatic);
  nb::class_<Pipeline>(m, "Pipeline")
      .def(
          "__init__",
          [](Pipeline* self, const std::vector<ConfiguredKernel>& kernels, std::uint32_t width, std::uint32_t height,
             const std::string& pixel, const std::string& unit, unsigned threads, std::uint32_t stack,
             const std::string& device, const std::string& trigger, bool keep_darks, bool fused,
             const std::vector<SpecialValue>& special, const std::optional<std::string>& masked,
             std::optional<std::int64_t> largest_count) {
            const offline::Config config = config_of(kernels, width, height, pixel, unit, threads, stack, device,
                                                     trigger, keep_darks, fused, special, masked, largest_count);
            const nb::gil_scoped_release release;
            new (self) Pipeline(config);
          },
          "kernels"_a, "width"_a, "height"_a, "pixel"_a, nb::kw_only(), "unit"_a = "cpu", "threads"_a = 1,
          "stack"_a = 16, "device"_a = "0", "trigger"_a = "auto", "keep_darks"_a = true, "fused"_a = true,
          "special"_a = std::vector<SpecialValue>{}, "masked"_a.none() = nb::none(),
          "largest_count"_a.none() = nb::none())
      .def("run", &Pipeline::run, "images"_a, "frame_number"_a.none() = nb::none(), "flags"_a.none() = nb::none())
      .def_prop_ro("how", &Pipeline::how)
      .def_prop_ro("pixel", &Pipeline::pixel);
  nb::class_<Recorder>(m, "Recorder")
      .def(
          "__init__",
          [](Recorder* self, const BufferSpec& config, std::uint32_t run) {
            const nb::gil_scoped_release release;
            new (self) Recorder(config.config, run);
          },
          "config"_a, "run"_a)
      .def("begin", &Recorder::begin, nb::call_guard<nb::gil_scoped_release>())
      .def("process", &Recorder::process, "images"_a, "frame_number"_a.none() = nb::none(),
           "timestamp_ns"_a.none() = nb::none(), "flags"_a.none() = nb::none(), "completeness"_a.none() = nb::none(),
           "lost_first"_a.none() = nb::none(), "lost"_a.none() = nb::none())
      .def("finish", &Recorder::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("status", &Recorder::status, nb::keep_alive<0, 1>())
      .def_prop_ro("device_bytes", &Recorder::device_bytes);
}

}  // namespace rashpa::bindings
