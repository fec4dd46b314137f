// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CRC32C of images on OpenCL devices.
#include <memory>

#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"

namespace rashpa::kernel::checksum::opencl {

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::checksum::opencl
