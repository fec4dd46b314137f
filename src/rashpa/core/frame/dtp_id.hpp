// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// The largest id of a DTP in a run. An immediate contains only its lowest byte: queue pairs distinguish DTPs, and
/// frame records contain the whole id.
inline constexpr std::uint32_t kLargestDtpId = 65535;

}  // namespace rashpa
