// SPDX-License-Identifier: Apache-2.0
/// Datasets: frames of emulated modules. Making and reading release the GIL; arrays handed to Python are copies that
/// own their memory.
#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/pixels.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/image/orientation.hpp"
#include "rashpa/dataset/files/raw_dataset.hpp"
#include "rashpa/dataset/jungfrau/jungfrau_simulator.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using dataset::Dataset;
using dataset::JungfrauDataset;
using dataset::JungfrauParameters;
using dataset::Making;
using dataset::MemoryDataset;
using dataset::ModuleShape;

namespace {

using AnyArray = nb::ndarray<nb::numpy>;
using Sizes = std::vector<std::size_t>;

AnyArray copied(const void* source, std::size_t bytes, const Sizes& sizes, nb::dlpack::dtype dtype) {
  auto memory = std::make_unique<std::byte[]>(bytes);
  std::memcpy(memory.get(), source, bytes);
  std::byte* data = memory.release();
  const nb::capsule owner(data, [](void* at) noexcept { delete[] static_cast<std::byte*>(at); });
  return {data, sizes.size(), sizes.data(), owner, nullptr, dtype};
}

template <typename T>
AnyArray copied(std::span<const T> values, const Sizes& sizes) {
  return copied(values.data(), values.size_bytes(), sizes, nb::dtype<T>());
}

void check_frame(const Dataset& data, std::uint64_t frame) {
  if (frame >= data.frames()) {
    throw nb::index_error(
        fmt::format("dataset: it has {} frames, and not frame {}; give a number below", data.frames(), frame).c_str());
  }
}

void check_module(const Dataset& data, std::uint32_t module) {
  if (module >= data.modules()) {
    throw nb::index_error(
        fmt::format("dataset: it has {} modules, and not module {}; give a number below", data.modules(), module)
            .c_str());
  }
}

AnyArray frame_of(const Dataset& data, std::uint32_t module, std::uint64_t frame) {
  check_module(data, module);
  check_frame(data, frame);
  const ModuleShape shape = data.shape();
  return copied(data.frame(module, frame), shape.frame_bytes(), {shape.height, shape.width}, dtype_of(shape.pixel));
}

using FlagArray = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::shared_ptr<Dataset> memory_dataset(const nb::ndarray<nb::ro, nb::ndim<4>, nb::c_contig, nb::device::cpu>& frames,
                                        const std::optional<FlagArray>& flags) {
  for (std::size_t axis = 1; axis < 4; ++axis) {
    if (frames.shape(axis) > dataset::kLargestSide)
      throw ConfigError(fmt::format("dataset: an axis of the array has {} places; give {} or fewer", frames.shape(axis),
                                    dataset::kLargestSide));
  }
  const ModuleShape shape{static_cast<std::uint32_t>(frames.shape(3)), static_cast<std::uint32_t>(frames.shape(2)),
                          pixel_of("dataset", frames.dtype())};
  const auto modules = static_cast<std::uint32_t>(frames.shape(1));
  if (flags && flags->shape(0) != frames.shape(0)) {
    throw ConfigError(
        fmt::format("dataset: {} flags for {} frames; give one a frame", flags->shape(0), frames.shape(0)));
  }
  const auto* pixels = static_cast<const std::byte*>(frames.data());
  const nb::gil_scoped_release release;
  auto out = std::make_shared<MemoryDataset>(shape, modules, frames.shape(0));
  for (std::uint64_t n = 0; n < out->frames(); ++n) {
    for (std::uint32_t m = 0; m < modules; ++m, pixels += shape.frame_bytes()) {
      std::memcpy(out->writable(m, n).data(), pixels, shape.frame_bytes());
    }
    if (flags) out->set_flags(n, flags->data()[n]);
  }
  return out;
}

std::shared_ptr<Dataset> pattern_dataset(std::uint32_t width, std::uint32_t height, const std::string& pixel,
                                         std::uint32_t modules, std::uint64_t frames) {
  const nb::gil_scoped_release release;
  return dataset::make_pattern({width, height, pixel_of("dataset", pixel)}, modules, frames);
}

std::shared_ptr<Dataset> raw_dataset(const std::vector<std::vector<std::string>>& files, std::uint32_t width,
                                     std::uint32_t height, const std::string& pixel, const std::string& format,
                                     std::uint32_t header_bytes, const std::optional<FlagArray>& flags,
                                     Making* making) {
  const nb::gil_scoped_release release;
  std::shared_ptr<MemoryDataset> out = dataset::load_raw(
      files, {{width, height, pixel_of("dataset", pixel)}, dataset::raw_format(format), header_bytes}, making);
  if (flags && flags->shape(0) > out->frames()) {
    throw ConfigError(fmt::format("dataset: there are flags for {} frames; give one for each of the {} in the files",
                                  flags->shape(0), out->frames()));
  }
  for (std::size_t n = 0; flags && n < flags->shape(0); ++n) out->set_flags(n, flags->data()[n]);
  return out;
}

std::shared_ptr<JungfrauDataset> jungfrau_dataset(std::uint32_t modules, std::uint64_t frames, std::uint64_t seed,
                                                  double energy_kev, double hit_fraction, std::uint32_t dark_every,
                                                  std::uint32_t spots, double background_photons, bool truth,
                                                  unsigned threads,
                                                  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& places,
                                                  const std::vector<Orientation>& orientations, Making* making) {
  if (!orientations.empty() && orientations.size() != places.size()) {
    throw ConfigError(fmt::format("jungfrau simulator: {} orientations for {} places; give one each, or none",
                                  orientations.size(), places.size()));
  }
  JungfrauParameters parameters{modules,
                                frames,
                                seed,
                                energy_kev,
                                hit_fraction,
                                dark_every,
                                spots,
                                background_photons,
                                truth ? dataset::Truth::keep : dataset::Truth::drop,
                                threads,
                                {}};
  for (std::size_t i = 0; i < places.size(); ++i) {
    parameters.places.push_back(
        {places[i].first, places[i].second, orientations.empty() ? Orientation{} : orientations[i]});
  }
  const nb::gil_scoped_release release;
  return std::make_shared<JungfrauDataset>(parameters, making);
}

constexpr std::size_t kHeight = dataset::kJungfrauHeight;
constexpr std::size_t kWidth = dataset::kJungfrauWidth;

/// A map of one module: one value a pixel, or one a gain and pixel.
template <typename T>
AnyArray map_of(const std::vector<T>& values) {
  const Sizes sizes = values.size() == kHeight * kWidth ? Sizes{kHeight, kWidth} : Sizes{3, kHeight, kWidth};
  return copied(std::span<const T>(values), sizes);
}

const dataset::JungfrauModule& module_of(const JungfrauDataset& data, std::uint32_t module) {
  check_module(data, module);
  return data.calibration(module);
}

nb::dict jungfrau_calibration(std::uint64_t seed, std::uint32_t module) {
  dataset::JungfrauModule made;
  {
    const nb::gil_scoped_release release;
    made = dataset::make_jungfrau_module(seed, module);
  }
  nb::dict out;
  out["pedestal"] = map_of(made.pedestal);
  out["gain"] = map_of(made.gain);
  out["noise"] = map_of(made.noise);
  out["mask"] = map_of(made.mask);
  return out;
}

AnyArray photons_of(const JungfrauDataset& data, std::uint32_t module, std::uint64_t frame) {
  check_module(data, module);
  check_frame(data, frame);
  const std::span<const std::uint16_t> photons = data.photons(module, frame);
  if (photons.empty())
    throw StateError("jungfrau simulator: the true photons were not kept; make the dataset with truth=True");
  return copied(photons, {kHeight, kWidth});
}

using FrameArray = nb::ndarray<nb::ro, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// Frames [frame][row][column] of a module, from frame `first` on.
void fill(MemoryDataset& data, std::uint32_t module, std::uint64_t first, const FrameArray& frames) {
  check_module(data, module);
  const ModuleShape shape = data.shape();
  if (frames.shape(0) > data.frames() || first > data.frames() - frames.shape(0) || frames.shape(1) != shape.height ||
      frames.shape(2) != shape.width || pixel_of("dataset", frames.dtype()) != shape.pixel) {
    throw ConfigError(fmt::format(
        "dataset: {} frames of {} × {} pixels do not fit behind frame {}; give frames of the dataset's size and type",
        frames.shape(0), frames.shape(2), frames.shape(1), first));
  }
  const auto* pixels = static_cast<const std::byte*>(frames.data());
  for (std::size_t n = 0; n < frames.shape(0); ++n, pixels += shape.frame_bytes()) {
    std::memcpy(data.writable(module, first + n).data(), pixels, shape.frame_bytes());
  }
}

void bind_filled(nb::module_& m) {
  nb::class_<MemoryDataset, Dataset>(m, "MemoryDataset")
      .def(
          "__init__",
          [](MemoryDataset* self, std::uint32_t width, std::uint32_t height, const std::string& pixel,
             std::uint32_t modules, std::uint64_t frames) {
            new (self) MemoryDataset({width, height, pixel_of("dataset", pixel)}, modules, frames);
          },
          "width"_a, "height"_a, "pixel"_a, "modules"_a, "frames"_a)
      .def("fill", &fill, "module"_a, "first"_a, "frames"_a)
      .def(
          "set_flags",
          [](MemoryDataset& data, std::uint64_t frame, std::uint32_t flags) {
            check_frame(data, frame);
            data.set_flags(frame, flags);
          },
          "frame"_a, "flags"_a);
}

void bind_jungfrau(nb::module_& m) {
  using Data = JungfrauDataset;
  nb::class_<JungfrauDataset, Dataset>(m, "JungfrauDataset")
      .def(
          "pedestal", [](const Data& d, std::uint32_t i) { return map_of(module_of(d, i).pedestal); }, "module"_a)
      .def(
          "gain", [](const Data& d, std::uint32_t i) { return map_of(module_of(d, i).gain); }, "module"_a)
      .def(
          "noise", [](const Data& d, std::uint32_t i) { return map_of(module_of(d, i).noise); }, "module"_a)
      .def(
          "mask", [](const Data& d, std::uint32_t i) { return map_of(module_of(d, i).mask); }, "module"_a)
      .def("photons", &photons_of, "module"_a, "frame"_a)
      .def("kinds", [](const JungfrauDataset& d) {
        const auto kinds = d.kinds();
        return copied(kinds.data(), kinds.size(), {kinds.size()}, nb::dtype<std::uint8_t>());
      });
  m.def("jungfrau_dataset", &jungfrau_dataset, nb::kw_only(), "modules"_a, "frames"_a, "seed"_a, "energy_kev"_a,
        "hit_fraction"_a, "dark_every"_a, "spots"_a, "background_photons"_a, "truth"_a = false, "threads"_a = 0,
        "places"_a = std::vector<std::pair<std::uint32_t, std::uint32_t>>{},
        "orientations"_a = std::vector<Orientation>{}, "making"_a.none() = nb::none());
  m.def("jungfrau_calibration", &jungfrau_calibration, "seed"_a, "module"_a);
}

}  // namespace

void bind_dataset(nb::module_& m) {
  nb::class_<Making>(m, "Making").def(nb::init<>()).def_prop_ro("share", &Making::share);
  nb::class_<Dataset>(m, "Dataset")
      .def_prop_ro("modules", &Dataset::modules)
      .def_prop_ro("frames", &Dataset::frames)
      .def_prop_ro("width", [](const Dataset& d) { return d.shape().width; })
      .def_prop_ro("height", [](const Dataset& d) { return d.shape().height; })
      .def_prop_ro("pixel", [](const Dataset& d) { return std::string(pixel_name(d.shape().pixel)); })
      .def("frame", &frame_of, "module"_a, "frame"_a)
      .def(
          "flags",
          [](const Dataset& d, std::uint64_t frame) {
            check_frame(d, frame);
            return d.flags(frame);
          },
          "frame"_a);
  m.def("memory_dataset", &memory_dataset, "frames"_a, "flags"_a.none() = nb::none());
  m.def("pattern_dataset", &pattern_dataset, "width"_a, "height"_a, "pixel"_a, "modules"_a, "frames"_a);
  m.def(
      "pattern_value",
      [](const std::string& pixel, std::uint32_t module, std::uint64_t frame, std::uint32_t row, std::uint32_t column) {
        return dataset::pattern_value(pixel_of("dataset", pixel), module, frame, row, column);
      },
      "pixel"_a, "module"_a, "frame"_a, "row"_a, "column"_a);
  m.def("raw_dataset", &raw_dataset, "files"_a, "width"_a = 0, "height"_a = 0, "pixel"_a = "uint16",
        "format"_a = "auto", "header_bytes"_a = 0, "flags"_a.none() = nb::none(), "making"_a.none() = nb::none());
  bind_filled(m);
  bind_jungfrau(m);
}

}  // namespace rashpa::bindings
