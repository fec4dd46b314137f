// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace rashpa {

/// The bytes of a cache line. Memory that one thread writes alone is aligned to it.
inline constexpr std::size_t kCacheLine = 64;

}  // namespace rashpa
