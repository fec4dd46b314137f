// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Unpacking on OpenCL devices.
#include <memory>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/unpack/unpack.hpp"

namespace rashpa::kernel::unpack::opencl {

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::unpack::opencl
