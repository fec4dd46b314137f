// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "rashpa/kernel/contract/device_pass.hpp"

namespace rashpa::kernel::veto::cuda {

/// Makes the pass on the current device. `columns` is the number of columns of earlier steps, whose numbers of an image
/// directly precede its own.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(std::uint32_t columns);

}  // namespace rashpa::kernel::veto::cuda
