// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace rashpa::memory::cuda {

/// Returns the free memory of a device in bytes, from the driver's management library; 0: unknown. Unlike the runtime,
/// that library makes no context, which would use some of the memory.
std::size_t free_bytes(int device) noexcept;

}  // namespace rashpa::memory::cuda
