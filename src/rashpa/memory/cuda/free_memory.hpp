// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace rashpa::memory::cuda {

/// Returns the free memory of a device in bytes, from the driver's management library; 0: unknown. Unlike the runtime,
/// that library makes no context, which would use some of the memory.
std::size_t free_bytes(int device) noexcept;

/// A window onto memory.
struct Window {
  std::size_t bytes = 0;
  std::size_t free_bytes = 0;
};
/// Returns the device's BAR1, through which other devices on the bus reach its memory; 0 where it is unknown. It makes
/// no context.
Window bar1(int device) noexcept;

}  // namespace rashpa::memory::cuda
