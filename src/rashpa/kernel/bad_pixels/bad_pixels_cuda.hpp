// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/bad_pixels/bad_pixels.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"

namespace rashpa::kernel::bad_pixels::cuda {

/// Makes the pass on the current device.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup);

}  // namespace rashpa::kernel::bad_pixels::cuda
