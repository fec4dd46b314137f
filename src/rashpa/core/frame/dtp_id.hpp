// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// The largest id of a DTP in a run. An immediate has only its lowest byte; queue pairs distinguish DTPs, and records
/// have the whole number.
inline constexpr std::uint32_t kLargestDtpId = 65535;

}  // namespace rashpa
