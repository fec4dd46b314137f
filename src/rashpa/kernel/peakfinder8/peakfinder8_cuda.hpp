// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"

namespace rashpa::kernel::peakfinder8::cuda {

/// Makes the pass on the current device. Throws ConfigError when max_pixels exceeds the room of the device code, or
/// panels overlap.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup);

}  // namespace rashpa::kernel::peakfinder8::cuda
