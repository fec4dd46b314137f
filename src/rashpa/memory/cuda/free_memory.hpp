// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace rashpa::memory::cuda {

/// Free memory of a device, as the driver's management library says it: unlike the runtime it makes no context, which
/// would take some of that memory. 0: it is not there, or does not say.
std::size_t free_bytes(int device) noexcept;

}  // namespace rashpa::memory::cuda
