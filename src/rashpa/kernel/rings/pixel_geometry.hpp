// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pixel positions from a PONI or CrystFEL file that the control plane has read, for kernels that use the distance from
/// the beam. Constant once made; any thread may read it.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/parameter.hpp"
#include "rashpa/kernel/contract/given.hpp"
#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel {

/// A panel of the detector: columns [left, right), rows [top, bottom).
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
  std::vector<float> radius{};  ///< distance of each pixel's centre from the beam in pixels; NaN: not used
  std::vector<Panel> panels{};  ///< empty: the image is one panel
};

/// Returns the geometry made from the files of the parameters `poni` and `geometry`; null when they name none. Throws
/// ConfigError that begins with `owner` ("kernel sparsify") when a named file gave no arrays, or a panel lies outside
/// the image.
std::shared_ptr<const PixelGeometry> geometry_of(const Given& given, std::string_view owner, const std::string& poni,
                                                 const std::string& geometry);
/// Throws ConfigError when the geometry is for images of another shape; `key` is the parameter that names its file.
void check_geometry(const PixelGeometry& geometry, const Shape& shape, std::string_view owner, std::string_view key);

inline Parameter poni_parameter() {
  return {.name = "poni", .doc = "geometry: a PONI file, in place of beam_x and beam_y", .file = true};
}
/// Returns the parameter `geometry`. `instead` names, as text, the parameters that it replaces.
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
