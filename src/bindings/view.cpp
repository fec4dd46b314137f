// SPDX-License-Identifier: Apache-2.0
/// Parts of images for viewers.
#include "rashpa/receiver/views/view.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/pixels.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Pixels = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Gaps = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Corners = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

AnyArray view_of(const Pixels& pixels, const Corners& corners, std::uint32_t step, bool negative,
                 const std::vector<double>& special, const std::optional<Gaps>& gaps) {
  const auto [left, top, right, bottom] = corners;
  const std::size_t rows = pixels.shape(0), columns = pixels.shape(1);
  if (left >= right || top >= bottom || right > columns || bottom > rows || step == 0) {
    throw ConfigError(
        fmt::format("view: columns {} … {}, rows {} … {} in steps of {} are no part of {} × {} pixels; give corners "
                    "inside the image and a step of 1 or more",
                    left, right, top, bottom, step, columns, rows));
  }
  if (gaps && (gaps->shape(0) != rows || gaps->shape(1) != columns)) {
    throw ConfigError(fmt::format("view: gaps have {} × {} pixels, and the image {} × {}; give gaps of its size",
                                  gaps->shape(1), gaps->shape(0), columns, rows));
  }
  const PixelType type = pixel_of("view", pixels.dtype());
  const std::size_t first = top * columns + left;
  const receiver::Seen seen{.pixels = static_cast<const std::byte*>(pixels.data()) + first * pixel_bytes(type),
                            .gaps = gaps ? reinterpret_cast<const std::uint8_t*>(gaps->data()) + first : nullptr,
                            .pitch = columns,
                            .width = right - left,
                            .height = bottom - top,
                            .pixel = type};
  const receiver::NoValue none{
      .of_signed = negative ? receiver::NoValue::Signed::negative : receiver::NoValue::Signed::least,
      .special = special};
  std::vector<std::byte> values;
  {
    const nb::gil_scoped_release released;
    values = receiver::view_of(seen, none, step);
  }
  const auto blocks = [step](std::uint32_t pixels_of_side) { return (pixels_of_side + step - 1) / step; };
  return array_of(std::move(values), {blocks(seen.height), blocks(seen.width)}, dtype_of(receiver::view_pixel(type)));
}

}  // namespace

void bind_view(nb::module_& m) {
  m.def("view_of", &view_of, "pixels"_a, "corners"_a, "step"_a, "negative"_a, "special"_a = std::vector<double>{},
        "gaps"_a = nb::none());
}

}  // namespace rashpa::bindings
