// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/receiver/config.hpp"

namespace rashpa::bindings {

/// BufferConfig, as Python fills it in.
struct BufferSpec {
  receiver::BufferConfig config;
};

}  // namespace rashpa::bindings
