// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"

namespace rashpa::kernel::total_counts::cuda {

/// Makes the pass on the current device.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Setup& setup);

}  // namespace rashpa::kernel::total_counts::cuda
