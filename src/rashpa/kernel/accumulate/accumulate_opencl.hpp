// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Accumulated images on OpenCL devices.
#include <memory>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"

namespace rashpa::kernel::accumulate::opencl {

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::accumulate::opencl
