// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Azimuthal integration on OpenCL devices: the device sums by bins, the host computes the results.
#include <memory>
#include <optional>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/azimuthal/profile_sums.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"

namespace rashpa::kernel::azimuthal::opencl {

/// Makes the pass. `summed` receives the sum of profiles, if it is requested. Throws ConfigError when the device has no
/// double precision.
std::unique_ptr<kernel::opencl::DevicePass> make_pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring,
                                                      std::optional<ProfileSums> summed, const Setup& setup,
                                                      const memory::opencl::Device& device);

}  // namespace rashpa::kernel::azimuthal::opencl
