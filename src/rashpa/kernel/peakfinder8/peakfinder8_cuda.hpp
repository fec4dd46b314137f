// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"

namespace rashpa::kernel::peakfinder8::cuda {

/// The step on the current device. Throws ConfigError when max_pixels is above what it has room for, or panels overlap.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup);

}  // namespace rashpa::kernel::peakfinder8::cuda
