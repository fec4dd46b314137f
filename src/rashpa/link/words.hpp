// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The types that all links share: endpoints, flow control, waiting, queue pairs and the requested proof. Plain values.
#include <cstdint>
#include <string>
#include <string_view>

namespace rashpa::link {

/// An end of one DTP's path, sent in telegrams. The link defines the meaning of each member; unused members are 0 or
/// empty.
struct Endpoint {
  /// for roce and verbs: IPv4 or IPv6 as text, with framing v1 the GID without a scope; for pcie: a path
  std::string address;
  std::uint16_t port = 0;  ///< UDP port
  std::uint32_t qpn = 0;   ///< queue pair; for pcie: position of the DTP
  std::uint32_t rkey = 0;  ///< key of the memory
  std::uint64_t credit_offset =
      0;  ///< sender only: address of the two 64-bit credit words (images granted, payload bytes received)
  std::uint64_t window_bytes =
      /// receiver only: payload in flight for each DTP for which its socket has room, whatever was requested; 0:
      /// unknown
      0;
  std::uint32_t psn =
      0;  ///< PSN of the first packet that this end sends (for a receiver: of its credits); 24 bits, random in each run
  /// receiver only: key of the memory of records, where it is another block than that of lines; 0: they have one key
  std::uint32_t records_rkey = 0;
  /// receiver: address of the DTP's last word (core/frame/last_word.hpp), with the key of lines; 0: none is awaited.
  /// sender: the same, where it writes such words
  std::uint64_t word_offset = 0;

  [[nodiscard]] std::uint32_t key_of_records() const noexcept { return records_rkey != 0 ? records_rkey : rkey; }
};

/// The transport of queue pairs. `uc`, Unreliable Connected, is RASHPA's own: a lost packet stays lost. `rc`, Reliable
/// Connected, repairs losses. `ud` is Unreliable Datagram: SEND with a line header of our own, in user space on both
/// sides.
enum class Transport : std::uint8_t { uc, rc, ud };

/// The division of a DTP's bytes into packets. `only`: each packet is a whole message, so one lost packet costs only
/// itself. `first_middle_last`: long messages are cut at the path MTU, as RNICs do; one lost packet costs the rest of
/// its message.
enum class Packetisation : std::uint8_t { only, first_middle_last };

/// The flow control. `credits`: the receiver grants image slots and, where it can, acknowledges bytes. `paced`: the
/// source keeps to its rate without answers.
enum class Flow : std::uint8_t { credits, paced };

/// The behaviour of an idle thread: sleep in the kernel, or poll.
enum class Poll : std::uint8_t { event, spin };

/// The images whose lines in memory are checked against the record's CRC32C, on links that see no packets. `sampled`
/// checks one in 16; the others are complete with Proof::none.
enum class Verify : std::uint8_t { all, sampled, off };

/// Throws ConfigError that begins with `link` unless `pmtu` is 256, 512, 1024, 2048 or 4096.
void check_pmtu(std::string_view link, std::uint32_t pmtu);
/// Throws ConfigError when `destination` has keys of their own for lines and records; for senders that know one key.
void check_one_key(std::string_view link, const Endpoint& destination);

}  // namespace rashpa::link
