// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Types of pixels as arrays have them. Messages begin with `owner`.
#include <fmt/format.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string_view>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::bindings {

inline constexpr PixelType kPixelTypes[] = {PixelType::u8,  PixelType::u16, PixelType::u32,
                                            PixelType::i16, PixelType::i32, PixelType::f32};

inline PixelType pixel_of(std::string_view owner, std::string_view name) {
  for (const PixelType type : kPixelTypes) {
    if (pixel_name(type) == name) return type;
  }
  throw ConfigError(
      fmt::format("{}: no pixel type '{}'; choose uint8, uint16, uint32, int16, int32 or float32", owner, name));
}

inline nanobind::dlpack::dtype dtype_of(PixelType type) {
  switch (type) {
    case PixelType::u8:
      return nanobind::dtype<std::uint8_t>();
    case PixelType::u16:
      return nanobind::dtype<std::uint16_t>();
    case PixelType::u32:
      return nanobind::dtype<std::uint32_t>();
    case PixelType::i16:
      return nanobind::dtype<std::int16_t>();
    case PixelType::i32:
      return nanobind::dtype<std::int32_t>();
    default:
      return nanobind::dtype<float>();
  }
}

inline PixelType pixel_of(std::string_view owner, nanobind::dlpack::dtype dtype) {
  for (const PixelType type : kPixelTypes) {
    if (dtype_of(type) == dtype) return type;
  }
  throw ConfigError(fmt::format(
      "{}: the array's type is no pixel type; convert it to uint8, uint16, uint32, int16, int32 or float32", owner));
}

}  // namespace rashpa::bindings
