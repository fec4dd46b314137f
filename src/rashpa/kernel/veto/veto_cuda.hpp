// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "rashpa/kernel/contract/device_pass.hpp"

namespace rashpa::kernel::veto::cuda {

/// The step on the current device. `columns`: that the steps before it make, whose numbers of an image lie right before
/// its own.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(std::uint32_t columns);

}  // namespace rashpa::kernel::veto::cuda
