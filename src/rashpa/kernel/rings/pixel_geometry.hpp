// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where pixels lie, of a PONI or a CrystFEL file that the control plane has read: for kernels that look at an image by
/// the distance from the beam. Does not change once it is made; any thread may read it.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/parameter.hpp"
#include "rashpa/kernel/contract/given.hpp"
#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel {

/// A panel: columns [left, right), rows [top, bottom).
struct Panel {
  std::int64_t left = 0;
  std::int64_t right = 0;
  std::int64_t top = 0;
  std::int64_t bottom = 0;
  [[nodiscard]] bool holds(std::int64_t x, std::int64_t y) const noexcept {
    return x >= left && x < right && y >= top && y < bottom;
  }
};

struct PixelGeometry {
  Shape shape{};
  std::vector<float> radius{};  ///< of each pixel's centre, pixels; NaN: not looked at
  std::vector<Panel> panels{};  ///< none: the image is one
};

/// The arrays made from the files that the parameters `poni` and `geometry` name; null when they name none. Throws
/// ConfigError that begins with `owner` ("kernel sparsify") when nothing was made from them, or a panel does not lie in
/// the image.
std::shared_ptr<const PixelGeometry> geometry_of(const Given& given, std::string_view owner, const std::string& poni,
                                                 const std::string& geometry);
/// Throws ConfigError when it is of images of another shape; `key`: the parameter that names its file.
void check_geometry(const PixelGeometry& geometry, const Shape& shape, std::string_view owner, std::string_view key);

inline Parameter poni_parameter() {
  return {.name = "poni", .doc = "geometry: a PONI file, in place of beam_x and beam_y", .file = true};
}
/// `instead`: the parameters that it takes the place of, in words.
inline Parameter geometry_parameter(const char* instead = "beam_x and beam_y") {
  return {.name = "geometry", .doc = std::string("geometry: a CrystFEL file, in place of ") + instead, .file = true};
}
inline Input radius_input() {
  return {.name = "radius",
          .type = Number::f32,
          .needed = false,
          .doc = "distance of each pixel's centre from the beam, pixels; NaN: not looked at"};
}
inline Input panels_input() {
  return {.name = "panels",
          .type = Number::u32,
          .shape = Input::Shape::values,
          .needed = false,
          .doc = "left, right, top, bottom of each panel"};
}

}  // namespace rashpa::kernel
