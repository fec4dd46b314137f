// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Statistics of regions on OpenCL devices.
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"

namespace rashpa::kernel::roi_stats::opencl {

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const std::vector<NamedRegion>& regions, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::roi_stats::opencl
