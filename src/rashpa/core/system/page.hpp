// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace rashpa {

/// Bytes of a page of memory, and of a huge one, of the processors that we know.
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace rashpa
