// SPDX-License-Identifier: Apache-2.0
/// Kernels of a pipeline, as Python configures them: by name, with named values.
#include "bindings/kernel.hpp"

#include <fmt/core.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/named_values.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bad_pixels/bad_pixels.hpp"
#include "rashpa/kernel/outside/plugin.hpp"
#include "rashpa/kernel/registry.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Maps = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MadeMask = nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<2>>;
using kernel::CalibrationMaps;

using BadMask = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

kernel::bad_pixels::Config bad_of(const BadMask& mask) {
  kernel::bad_pixels::Config config{
      .shape = {static_cast<std::uint32_t>(mask.shape(1)), static_cast<std::uint32_t>(mask.shape(0))}};
  for (std::size_t pixel = 0; pixel < mask.size(); ++pixel) {
    if (mask.data()[pixel] != 0) config.bad.push_back(static_cast<std::uint32_t>(pixel));
  }
  return config;
}

using CellNumbers = std::vector<std::uint32_t>;

struct Calibration {
  std::shared_ptr<const CalibrationMaps> maps;
  CellNumbers cells;  // storage cell of each set
};

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

kernel::Number number_of(const std::string& name, nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  using kernel::Number;
  constexpr std::array<std::tuple<Code, int, Number>, 8> kKnown{{{Code::UInt, 8, Number::u8},
                                                                 {Code::UInt, 16, Number::u16},
                                                                 {Code::UInt, 32, Number::u32},
                                                                 {Code::UInt, 64, Number::u64},
                                                                 {Code::Int, 32, Number::i32},
                                                                 {Code::Int, 64, Number::i64},
                                                                 {Code::Float, 32, Number::f32},
                                                                 {Code::Float, 64, Number::f64}}};
  for (const auto& [code, bits, number] : kKnown) {
    if (static_cast<std::uint8_t>(code) == type.code && bits == type.bits && type.lanes == 1) return number;
  }
  throw ConfigError(
      fmt::format("array {}: no kernel takes numbers of its type; convert it to whole numbers of 8 to 64 bits, or to "
                  "float32 or float64",
                  name));
}

std::shared_ptr<const kernel::GivenArrays> arrays_of(const std::optional<nb::dict>& arrays, const CellNumbers& cells) {
  auto all = std::make_shared<kernel::GivenArrays>();
  if (!cells.empty()) all->emplace("cells", kernel::GivenArray::of(cells));
  if (!arrays) return all;
  for (const auto& [key, value] : *arrays) {
    const auto name = nb::cast<std::string>(key);
    const auto array = nb::cast<Array>(value);
    std::vector<std::size_t> shape;
    for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
    all->emplace(name, kernel::GivenArray(number_of(name, array.dtype()), std::move(shape),
                                          {static_cast<const std::byte*>(array.data()), array.nbytes()}));
  }
  return all;
}

/// module, x, y, width, height in the module, x, y in the image
using Part =
    std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

/// Describes where modules lie in the image, and how large a whole one is.
struct Modules {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<Part> parts{};
};

std::shared_ptr<const CalibrationMaps> maps_of(const Maps& pedestal, const Maps& gain, const Mask& mask,
                                               const std::optional<Maps>& rms, const Modules& modules,
                                               const CellNumbers& cells) {
  const std::size_t height = mask.shape(0);
  const std::size_t width = mask.shape(1);
  const std::size_t planes = 3 * std::max<std::size_t>(cells.size(), 1);
  for (const Maps* maps : {&pedestal, &gain}) {
    const bool for_all = maps == &gain && maps->shape(0) == 3;
    if ((maps->shape(0) != planes && !for_all) || maps->shape(1) != height || maps->shape(2) != width) {
      throw ConfigError(fmt::format(
          "calibration: pedestal and gain must be [{}][{}][{}] like the mask, got [{}][{}][{}]; give maps of one shape",
          planes, height, width, maps->shape(0), maps->shape(1), maps->shape(2)));
    }
  }
  auto found = std::make_shared<CalibrationMaps>();
  found->width = static_cast<std::uint32_t>(width);
  found->height = static_cast<std::uint32_t>(height);
  found->pedestal.assign(pedestal.data(), pedestal.data() + pedestal.size());
  found->gain.assign(gain.data(), gain.data() + gain.size());
  found->mask.assign(mask.data(), mask.data() + mask.size());
  if (rms) {
    const bool for_all = rms->shape(0) == 1;
    if ((rms->shape(0) != planes / 3 && !for_all) || rms->shape(1) != height || rms->shape(2) != width) {
      throw ConfigError(
          fmt::format("calibration: rms must be [{}][{}][{}] like the mask, got [{}][{}][{}]; give maps of one size",
                      planes / 3, height, width, rms->shape(0), rms->shape(1), rms->shape(2)));
    }
    found->rms.assign(rms->data(), rms->data() + rms->size());
  }
  found->module_width = modules.width;
  found->module_height = modules.height;
  for (const auto& [module, source_x, source_y, part_width, part_height, x, y] : modules.parts) {
    found->parts.push_back({module, {source_x, source_y, part_width, part_height}, x, y});
  }
  return found;
}

/// The steps of a pipeline that change the shape of images, in order.
class Reshaping {
 public:
  Reshaping(const std::vector<ConfiguredKernel>& kernels, std::uint32_t width, std::uint32_t height)
      : seen_{width, height}, made_(seen_) {
    for (const ConfiguredKernel& one : kernels) {
      if (auto reshape = one.step->reshape(made_)) {
        made_ = reshape->shape();
        steps_.push_back(std::move(reshape));
      }
    }
  }
  ~Reshaping() = default;
  Reshaping(const Reshaping&) = delete;
  Reshaping& operator=(const Reshaping&) = delete;

  [[nodiscard]] const kernel::Shape& made() const noexcept { return made_; }
  [[nodiscard]] bool changes() const noexcept { return !steps_.empty(); }
  [[nodiscard]] auto region(std::uint32_t x, std::uint32_t y, std::uint32_t width, std::uint32_t height) const {
    Region region{x, y, width, height};
    for (const auto& step : steps_) region = step->place(region);
    return std::tuple{region.x, region.y, region.width, region.height};
  }
  [[nodiscard]] MadeMask mask(const Mask& seen) const {
    if (seen.shape(0) != seen_.height || seen.shape(1) != seen_.width) {
      throw ConfigError(fmt::format("mask: it has {} × {} pixels, and the images have {} × {}; give one of their size",
                                    seen.shape(1), seen.shape(0), seen_.width, seen_.height));
    }
    auto mask = std::make_unique<std::vector<std::uint32_t>>(seen.data(), seen.data() + seen.size());
    for (const auto& step : steps_) *mask = step->mask(*mask);
    std::uint32_t* data = mask->data();
    const nb::capsule owner(mask.release(),
                            [](void* p) noexcept { delete static_cast<std::vector<std::uint32_t>*>(p); });
    return MadeMask(data, {made_.height, made_.width}, owner);
  }

 private:
  kernel::Shape seen_;
  kernel::Shape made_;
  std::vector<std::unique_ptr<const kernel::Reshape>> steps_;
};

}  // namespace

void bind_kernel(nb::module_& m) {
  nb::class_<Calibration>(m, "Calibration")
      .def(
          "__init__",
          [](Calibration* self, const Maps& pedestal, const Maps& gain, const Mask& mask,
             const std::optional<Maps>& rms, std::uint32_t module_width, std::uint32_t module_height,
             const std::vector<Part>& parts, const CellNumbers& cells) {
            new (self)
                Calibration{maps_of(pedestal, gain, mask, rms, {module_width, module_height, parts}, cells), cells};
          },
          "pedestal"_a, "gain"_a, "mask"_a, "rms"_a.none() = nb::none(), "module_width"_a = 0, "module_height"_a = 0,
          "parts"_a = std::vector<Part>{}, "cells"_a = CellNumbers{});
  nb::class_<ConfiguredKernel>(m, "Kernel")
      .def(
          "__init__",
          [](ConfiguredKernel* self, const std::string& name, const nb::dict& parameters, const Calibration* maps,
             const std::optional<nb::dict>& arrays) {
            const kernel::Given given{.calibration = maps != nullptr ? maps->maps : nullptr,
                                      .arrays = arrays_of(arrays, maps != nullptr ? maps->cells : CellNumbers{})};
            const kernel::Kernel& known = kernel::kernel_named(name);
            kernel::check_given(name, known.declaration().inputs, given);
            new (self) ConfiguredKernel{known.make(values_of("kernel " + name, parameters), given)};
          },
          "name"_a, "parameters"_a, "calibration"_a.none() = nb::none(), "arrays"_a.none() = nb::none())
      .def_prop_ro("name", [](const ConfiguredKernel& self) { return self.step->declaration().name; })
      .def_prop_ro("veto_reasons", [](const ConfiguredKernel& self) {
        const kernel::Port* verdict = self.step->declaration().made(kernel::Port::Kind::verdict);
        return verdict == nullptr ? std::vector<std::string>{} : verdict->reasons;
      });
  nb::class_<Reshaping>(m, "Reshaping")
      .def(nb::init<const std::vector<ConfiguredKernel>&, std::uint32_t, std::uint32_t>(), "kernels"_a, "width"_a,
           "height"_a)
      .def_prop_ro("width", [](const Reshaping& self) { return self.made().width; })
      .def_prop_ro("height", [](const Reshaping& self) { return self.made().height; })
      .def_prop_ro("changes", &Reshaping::changes)
      .def("region", &Reshaping::region, "x"_a, "y"_a, "width"_a, "height"_a)
      .def("mask", &Reshaping::mask, "seen"_a);
  m.def("kernels_json", &kernel::kernels_json);
  m.def(
      "bad_pixels_kernel",
      [](const BadMask& mask) { return ConfiguredKernel{kernel::bad_pixels::step_of(bad_of(mask))}; }, "mask"_a);
  m.def(
      "plugin_kernel",
      [](const std::string& file, const nb::dict& parameters, bool check) {
        using kernel::outside::PixelCheck;
        const auto plugin = kernel::outside::load_plugin(file, check ? PixelCheck::on : PixelCheck::off);
        kernel::check_new_name(plugin->declaration());
        return ConfiguredKernel{plugin->make(values_of(plugin->declaration().name, parameters), {})};
      },
      "file"_a, "parameters"_a, "check"_a = true);
}

}  // namespace rashpa::bindings
