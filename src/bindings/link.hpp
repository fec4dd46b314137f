// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/factory/link_options.hpp"

namespace rashpa::bindings {

/// A link with its chosen options, as Python hands it to an emulator or a receiver.
struct BoundLink {
  link::LinkOptions options;
};

inline nanobind::dict dict_of(const link::Counts& counts) {
  nanobind::dict out;
  for (const auto& [name, value] : counts) out[nanobind::str(name.data(), name.size())] = value;
  return out;
}

}  // namespace rashpa::bindings
