// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "rashpa/receiver/views/preview.hpp"

namespace rashpa::bindings {

/// The facts of the image, by name, with its pixels in their order; None when there is none.
std::optional<nanobind::dict> preview_of(const std::shared_ptr<const receiver::Preview>& preview,
                                         const sink::Output& output);

}  // namespace rashpa::bindings
