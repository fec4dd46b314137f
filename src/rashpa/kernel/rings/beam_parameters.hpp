// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parameters of kernels that use the distance of pixels from the beam.
#include <cmath>
#include <cstddef>

#include "rashpa/core/parameter.hpp"

namespace rashpa::kernel {

/// Returns the distance from the beam to the middle of a pixel, in pixels.
inline double from_beam(std::size_t column, std::size_t row, double beam_x, double beam_y) noexcept {
  return std::hypot(static_cast<double>(column) + 0.5 - beam_x, static_cast<double>(row) + 0.5 - beam_y);
}
/// Returns true when a kernel uses a pixel at that radius. The range includes both limits; max_radius 0 means no limit.
/// A NaN radius is never used.
constexpr bool is_looked_at(double radius, double min_radius, double max_radius) noexcept {
  return radius >= min_radius && (max_radius == 0 || radius <= max_radius);
}

/// The largest distance of the beam from the image's corner, in pixels.
inline constexpr double kFarthest = 1e5;

/// Returns the parameter `name`, beam_x or beam_y; its default comes from the detector's `key`.
inline Parameter beam_parameter(const char* name, const char* key) {
  return {.name = name,
          .doc = "place where the beam hits the image, pixels from its corner; that of the detector when not given",
          .least = -kFarthest,
          .most = kFarthest,
          .taken_from = key};
}
inline Parameter beam_x_parameter() { return beam_parameter("beam_x", "detector.beam_center_x"); }
inline Parameter beam_y_parameter() { return beam_parameter("beam_y", "detector.beam_center_y"); }
inline Parameter min_radius_parameter() {
  return {.name = "min_radius",
          .doc = "least distance from the beam that is looked at, pixels",
          .least = 0,
          .most = kFarthest};
}
inline Parameter max_radius_parameter() {
  return {.name = "max_radius",
          .doc = "largest distance from the beam that is looked at, pixels; 0: everywhere",
          .least = 0,
          .most = kFarthest};
}

}  // namespace rashpa::kernel
