// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa::wire {

/// The kind of header before the BTH that the ICRC includes.
enum class NetworkHeader : std::uint8_t { ipv4, ipv6, grh };

/// Returns the ICRC of a whole packet with any IP options, as a register value (its bytes are sent little endian).
/// `network` is the IP header or GRH; `udp` its 8 bytes, empty with a GRH; `transport` BTH … pad, at least 12 bytes.
/// For tools; the data path has IcrcPath.
std::uint32_t packet_icrc(NetworkHeader kind, std::span<const std::byte> network, std::span<const std::byte> udp,
                          std::span<const std::byte> transport);

}  // namespace rashpa::wire
