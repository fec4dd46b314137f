// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The words that every link shares: where an end is, how a source is held back, how a thread waits, how a queue pair
/// works, which proof is asked for. Plain values.
#include <cstdint>
#include <string>
#include <string_view>

namespace rashpa::link {

/// One end of one DTP's way. It travels in telegrams. The link defines the meaning of a member, and leaves it 0 or
/// empty where it has none.
struct Endpoint {
  std::string address;     ///< roce, verbs: IPv4 or IPv6 as text, framing v1: the GID without a scope; pcie: a path
  std::uint16_t port = 0;  ///< of UDP
  std::uint32_t qpn = 0;   ///< queue pair; pcie: the DTP's position
  std::uint32_t rkey = 0;  ///< key of the memory
  std::uint64_t credit_offset =
      0;  ///< sender only: of the two 64-bit credit words (images granted, payload bytes received)
  std::uint64_t window_bytes =
      0;  ///< receiver only: payload in flight per DTP that its socket has room for, whatever was asked; 0: not said
  std::uint32_t psn =
      0;  ///< 24 bits, random in each run: of the first packet that this end sends (a receiver: of its credits)
};

/// The queue pairs' transport. `uc`: Unreliable Connected, the transport of RASHPA: a lost packet is lost. `rc`:
/// Reliable Connected, losses are repaired. `ud`: Unreliable Datagram, SEND with a line header of our own; user space
/// on both sides.
enum class Transport : std::uint8_t { uc, rc, ud };

/// Describes how a DTP's bytes become packets. `only`: every packet is a whole message, one lost packet costs one
/// packet. `first_middle_last`: long messages are cut at the path MTU, as an RNIC does; one lost packet costs the rest
/// of its message.
enum class Packetisation : std::uint8_t { only, first_middle_last };

/// `credits`: the receiver grants image slots and, where it can, acknowledges bytes. `paced`: nothing comes back, the
/// source keeps to its rate.
enum class Flow : std::uint8_t { credits, paced };

/// The behaviour of an idle thread: sleep in the kernel, or keep asking.
enum class Poll : std::uint8_t { event, spin };

/// The images of which a link that sees no packets compares the CRC32C of the lines in memory with that of the record.
/// `sampled`: one in 16; the others are then complete with Proof::none.
enum class Verify : std::uint8_t { all, sampled, off };

/// Throws ConfigError that begins with `link` unless `pmtu` is 256, 512, 1024, 2048 or 4096.
void check_pmtu(std::string_view link, std::uint32_t pmtu);

}  // namespace rashpa::link
