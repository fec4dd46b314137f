// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Named values of a part (a kernel, a sink, a link), as Python hands them over.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "rashpa/core/error.hpp"
#include "rashpa/core/parameter.hpp"

namespace rashpa::bindings {

/// Throws ConfigError that names `owner` and key when a value is none that a parameter can have.
inline NamedValues values_of(std::string_view owner, const nanobind::dict& given) {
  namespace nb = nanobind;
  NamedValues values;
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    std::int64_t integer = 0;
    if (nb::isinstance<nb::bool_>(value)) {
      values.push_back({name, nb::cast<bool>(value)});
    } else if (nb::isinstance<nb::int_>(value)) {
      if (!nb::try_cast(value, integer)) {
        throw ConfigError(fmt::format("{}: {}: {} has more than 63 bits; give a smaller number", owner, name,
                                      nb::str(value).c_str()));
      }
      values.push_back({name, integer});
    } else if (nb::isinstance<nb::float_>(value)) {
      values.push_back({name, nb::cast<double>(value)});
    } else if (nb::isinstance<nb::str>(value)) {
      values.push_back({name, nb::cast<std::string>(value)});
    } else {
      throw ConfigError(
          fmt::format("{}: {}: the value is no number, text or truth value; give one of them", owner, name));
    }
  }
  return values;
}

}  // namespace rashpa::bindings
