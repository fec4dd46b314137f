// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// The largest id of a DTP in a run. An immediate has only its lowest byte; queue pairs tell DTPs apart, and records
/// have all of it.
inline constexpr std::uint32_t kLargestDtpId = 65535;

}  // namespace rashpa
