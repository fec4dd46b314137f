// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// Of a DTP in a run. An immediate has the lowest byte alone; queue pairs tell DTPs apart, and records have all of it.
inline constexpr std::uint32_t kLargestDtpId = 65535;

}  // namespace rashpa
