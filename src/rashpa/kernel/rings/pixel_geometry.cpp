// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/rings/pixel_geometry.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {

std::shared_ptr<const PixelGeometry> geometry_of(const Given& given, std::string_view owner, const std::string& poni,
                                                 const std::string& geometry) {
  const GivenArray* const radius = given.array("radius");
  if (radius == nullptr) {
    if (poni.empty() && geometry.empty()) return nullptr;
    throw ConfigError(fmt::format("{}: {}: the file has not been read; give the array radius that is made from it",
                                  owner, poni.empty() ? "geometry" : "poni"));
  }
  auto found = std::make_shared<PixelGeometry>();
  found->shape = {.width = static_cast<std::uint32_t>(radius->shape().at(1)),
                  .height = static_cast<std::uint32_t>(radius->shape().at(0))};
  const auto values = radius->as<float>();
  found->radius.assign(values.begin(), values.end());
  if (const GivenArray* const panels = given.array("panels")) {
    const auto ends = panels->as<std::uint32_t>();
    if (ends.size() % 4 != 0)
      throw ConfigError(fmt::format("{}: panels: a panel has not four numbers; give its corners", owner));
    for (std::size_t i = 0; i < ends.size(); i += 4) {
      const Panel panel{ends[i], ends[i + 1], ends[i + 2], ends[i + 3]};
      if (panel.right > found->shape.width || panel.bottom > found->shape.height || panel.left >= panel.right ||
          panel.top >= panel.bottom) {
        throw ConfigError(
            fmt::format("{}: panels: panel {} is not inside the image; move it, or make it smaller", owner, i / 4));
      }
      found->panels.push_back(panel);
    }
  }
  return found;
}

void check_geometry(const PixelGeometry& geometry, const Shape& shape, std::string_view owner, std::string_view key) {
  if (geometry.shape == shape) return;
  throw ConfigError(fmt::format("{}: {}: is of images of {} × {} pixels; the images have {} × {}", owner, key,
                                geometry.shape.width, geometry.shape.height, shape.width, shape.height));
}

}  // namespace rashpa::kernel
