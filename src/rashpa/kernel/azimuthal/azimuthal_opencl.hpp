// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Azimuthal integration on OpenCL devices: sums by bins there, what follows from them on the host.
#include <memory>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/opencl_pass.hpp"

namespace rashpa::kernel::azimuthal::opencl {

/// Throws ConfigError when the device has no double precision.
std::unique_ptr<kernel::opencl::DevicePass> make_pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring,
                                                      Added added, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::azimuthal::opencl
