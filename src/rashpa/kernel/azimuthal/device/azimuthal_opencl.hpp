// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Azimuthal integration on OpenCL devices: sums by bins there, the results on the host.
#include <memory>
#include <optional>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/azimuthal/profile_sums.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"

namespace rashpa::kernel::azimuthal::opencl {

/// `summed`: where profiles are added up, if anywhere. Throws ConfigError when the device has no double precision.
std::unique_ptr<kernel::opencl::DevicePass> make_pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring,
                                                      std::optional<ProfileSums> summed, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::azimuthal::opencl
