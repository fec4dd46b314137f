// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Bad pixels on OpenCL devices.
#include <memory>

#include "rashpa/kernel/bad_pixels/bad_pixels.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"

namespace rashpa::kernel::bad_pixels::opencl {

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::bad_pixels::opencl
