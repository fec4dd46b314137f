// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Bragg veto on OpenCL devices, for pipelines in which no other kernel counts bright pixels.
#include <memory>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"

namespace rashpa::kernel::bragg_count::opencl {

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const CountTap& tap, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::bragg_count::opencl
