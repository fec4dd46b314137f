// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/device_pass.hpp"

namespace rashpa::kernel::accumulate::cuda {

/// For the current device. Throws ResourceError.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup);

}  // namespace rashpa::kernel::accumulate::cuda
