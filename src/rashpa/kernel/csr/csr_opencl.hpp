// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compaction on OpenCL devices: sorted lists, the same in each run.
#include <memory>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/csr/csr.hpp"

namespace rashpa::kernel::csr::opencl {

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::csr::opencl
