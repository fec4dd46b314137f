// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/sparsify/sparsify.hpp"

namespace rashpa::kernel::sparsify::cuda {

/// Makes the pass on the current device.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const sigma_clip::Radii& radii,
                                                    const Setup& setup);

}  // namespace rashpa::kernel::sparsify::cuda
