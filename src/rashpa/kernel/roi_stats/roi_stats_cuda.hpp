// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"

namespace rashpa::kernel::roi_stats::cuda {

/// Makes the pass on the current device.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const std::vector<NamedRegion>& regions, const Setup& setup);

}  // namespace rashpa::kernel::roi_stats::cuda
