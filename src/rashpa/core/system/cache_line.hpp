// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace rashpa {

/// Bytes that processors move at once: memory that one thread writes alone begins at a multiple of them.
inline constexpr std::size_t kCacheLine = 64;

}  // namespace rashpa
