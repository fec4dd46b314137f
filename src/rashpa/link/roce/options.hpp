// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/core/image/placement.hpp"
#include "rashpa/link/line_map.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/wire/framing.hpp"

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::link::roce {

/// Describes how the ICRC of received packets is checked; sent packets always carry a correct one.
/// `full`: nothing but the right value will do. On IPv4 the frames are then read from the network interface
/// (AF_PACKET, needs CAP_NET_RAW), because a UDP socket does not show the identification that the ICRC covers.
/// `modulo_id`: by the UDP socket; on IPv4 a packet also passes when some other identification would make it right, on
/// IPv6, which has none, the check is exact. `off`: not at all.
enum class IcrcMode : std::uint8_t { full, modulo_id, off };

using wire::Framing;

/// Describes how packets are made and checked. Both ends of a DTP must agree on `transport`, `pmtu`, `packetisation`
/// and `framing`.
struct Options {
  Transport transport = Transport::uc;
  std::uint32_t pmtu = 4096;  ///< 256, 512, 1024, 2048 or 4096 payload bytes a packet, with ud the line header included
  Packetisation packetisation = Packetisation::only;
  bool gso = true;  ///< v2: send up to 64 KiB of packets as one datagram that the kernel cuts (UDP_SEGMENT)
  bool gro = true;  ///< v2 by UDP sockets: take merged datagrams from the kernel (UDP_GRO)
  IcrcMode icrc = IcrcMode::modulo_id;
  Framing framing = Framing::v2;
  std::uint64_t window_bytes = 1U << 20;   ///< payload in flight per DTP before news is needed; 0: no window. Only with
                                           ///< credits; with rc always: bytes that are not acknowledged. Windows of all
                                           ///< DTPs of a receiver thread should fit its socket buffer.
  std::uint32_t socket_buffer = 8U << 20;  ///< bytes asked of the kernel for each socket
  /// Receiver: bytes in which lines are counted; a packet must start and end on a multiple of them, counted in payload
  /// from the first line, and they divide a line. 0: the unit of our senders, and from the first packet of a sender
  /// that has another one, as little as 64 bytes where the line allows.
  std::uint32_t unit_bytes = 0;
  bool records = true;  ///< receiver: events bring frame records; false: packets are all that ever comes
};

/// The options of a telegram, by the names of the run file's keys.
const Parameters<Options>& parameters();

/// Throws ConfigError when a member is not allowed.
void check(const Options& options);

/// Most bytes of lines in one packet: the path MTU; with ud what the line header leaves of it, rounded down to a
/// multiple of 64, so that pieces of a line start where caches and vector stores like it.
std::uint32_t packet_payload(const Options& options) noexcept;
/// MTU of the Ethernet that `pmtu` payload bytes a packet need with framing v1.
constexpr std::uint32_t v1_mtu(std::uint32_t pmtu) noexcept {
  return pmtu + 40 /* GRH */ + 12 /* BTH */ + 16 /* RETH */ + 4 /* ImmDt */ + 4 /* ICRC */;
}

/// The unit in which the line map of a DTP counts: it divides a line, and every packet starts and ends on a multiple of
/// it, counted in payload bytes from the first line. Writes are runs of whole lines (merged where the destination is
/// contiguous), or pieces of a line cut at multiples of packet_payload(). `only` never cuts a line that fits a packet,
/// so its unit is then the line; `first_middle_last` cuts merged runs at multiples of packet_payload(). All starts are
/// sums of multiples of line_bytes and packet_payload(): in general the unit is their greatest common divisor.
std::uint32_t line_map_unit(const Placement& placement, const Options& options) noexcept;
/// Returns line_map_unit() and the finest unit that a foreign sender may make of it: 64 bytes, or 32 … 4 where a line
/// is no multiple of that; with `unit_bytes` this alone.
MapUnit map_unit(const Placement& placement, const Options& options) noexcept;

}  // namespace rashpa::link::roce
