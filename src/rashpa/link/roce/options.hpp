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

/// The check of the ICRC of received packets; sent packets always have a correct one. `full` accepts only the right
/// value. On IPv4 it reads frames from the network interface (AF_PACKET, needs CAP_NET_RAW), because UDP sockets hide
/// the identification that the ICRC covers. `modulo_id` uses the UDP socket: on IPv4 a packet also passes when another
/// identification would make its ICRC right; on IPv6, which has none, the check is exact. `off` checks nothing.
enum class IcrcMode : std::uint8_t { full, modulo_id, off };

using wire::Framing;

/// The settings of packets and their checks. Both ends of a DTP must agree on `transport`, `pmtu`, `packetisation` and
/// `framing`.
struct Options {
  Transport transport = Transport::uc;
  /// payload bytes of a packet: 256, 512, 1024, 2048 or 4096; with ud the line header included
  std::uint32_t pmtu = 4096;
  Packetisation packetisation = Packetisation::only;
  bool gso = true;  ///< v2: send up to 64 KiB of packets as one datagram that the kernel cuts (UDP_SEGMENT)
  bool gro = true;  ///< v2 with UDP sockets: take merged datagrams from the kernel (UDP_GRO)
  IcrcMode icrc = IcrcMode::modulo_id;
  Framing framing = Framing::v2;
  /// payload bytes in flight for each DTP until an answer is needed; 0: no limit. Applies with credits, and always with
  /// rc, to unacknowledged bytes. The windows of all DTPs of a receiver thread should fit its socket buffer.
  std::uint64_t window_bytes = 1U << 20;
  std::uint32_t socket_buffer = 8U << 20;  ///< bytes requested from the kernel for each socket
  /// The bytes in which a receiver counts lines. They divide a line, and all packets must start and end on a multiple
  /// of them, counted in payload from the first line. 0: the unit of our senders; from the first packet of a sender
  /// with another unit on, down to 64 bytes where the line allows.
  std::uint32_t unit_bytes = 0;
  bool records = true;  ///< for receivers: events bring frame records; false: only packets come
};

/// Returns the options of a telegram, under the names of the run file's keys.
const Parameters<Options>& parameters();

/// Throws ConfigError when a member is invalid.
void check(const Options& options);

/// Returns the most line bytes in one packet: the path MTU. With ud it is less the line header, rounded down to a
/// multiple of 64, so that pieces of a line start on cache lines.
std::uint32_t packet_payload(const Options& options) noexcept;
/// Returns the MTU of the Ethernet that packets of `pmtu` payload bytes need with framing v1.
constexpr std::uint32_t v1_mtu(std::uint32_t pmtu) noexcept {
  return pmtu + 40 /* GRH */ + 12 /* BTH */ + 16 /* RETH */ + 4 /* ImmDt */ + 4 /* ICRC */;
}

/// Returns the unit in which the line map of a DTP counts. It divides a line, and all packets start and end on a
/// multiple of it, counted in payload bytes from the first line. Writes are runs of whole lines (merged where the
/// destination is contiguous), or pieces of a line cut at multiples of packet_payload(). `only` never cuts a line that
/// fits a packet, so its unit is then the line; `first_middle_last` cuts merged runs at multiples of packet_payload().
/// All starts are sums of multiples of line_bytes and packet_payload(), so in general the unit is their greatest common
/// divisor.
std::uint32_t line_map_unit(const Placement& placement, const Options& options) noexcept;
/// Returns line_map_unit() and the finest unit that a foreign sender may need: 64 bytes, or 32 … 4 where a line is no
/// multiple of 64. With `unit_bytes` both are that value.
MapUnit map_unit(const Placement& placement, const Options& options) noexcept;

}  // namespace rashpa::link::roce
