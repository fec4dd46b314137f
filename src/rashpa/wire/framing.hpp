// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa::wire {

/// The headers before the BTH. `v2`: IP and UDP. `v1`: Ethernet with ethertype 0x8915 and the global route header. With
/// v1 both ends are on one Ethernet, addresses are link-local GIDs (gid.hpp), and sockets are AF_PACKET (CAP_NET_RAW).
enum class Framing : std::uint8_t { v2, v1 };

}  // namespace rashpa::wire
