// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace rashpa {

/// The bytes of a memory page on supported processors; kHugePage is that of a huge page.
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace rashpa
