// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/link/factory/link_options.hpp"

namespace rashpa::bindings {

/// A link with what is chosen of it, as Python hands it to an emulator or a receiver.
struct BoundLink {
  link::LinkOptions options;
};

}  // namespace rashpa::bindings
