// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The veto on total counts on OpenCL devices.
#include <memory>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"

namespace rashpa::kernel::total_counts::opencl {

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::total_counts::opencl
