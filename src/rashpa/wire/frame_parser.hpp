// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads what an AF_PACKET socket gives: untrusted frames of RoCEv2 on IPv4 and of RoCEv1, one packet each or several
/// that the kernel has not cut yet (a sender's GSO crosses veth and lo whole).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/wire/address.hpp"

namespace rashpa::wire {

/// The bits of an IP header's traffic class that routers mark.
inline constexpr std::uint8_t kEcnMask = 3;
inline constexpr std::uint8_t kEcnCapable = 2;  ///< ECT(0)
inline constexpr std::uint8_t kEcnCongestion = 3;

/// The header that PACKET_VNET_HDR puts in front of a frame (virtio_net_hdr; the kernel's header is no C++). Only how
/// the frame would be cut is looked at.
struct VirtualHeader {
  enum Type : std::uint8_t { plain = 0, udp_l4 = 5, ecn = 0x80 };
  std::uint8_t flags = 0;
  std::uint8_t type = plain;
  std::uint16_t header_bytes = 0;
  std::uint16_t segment = 0;  ///< payload bytes of each packet
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;
};

/// A frame that is whole and valid, except that its ICRC is not checked.
struct Frame {
  std::span<std::byte> transport;  ///< BTH … ICRC of the packets
  std::size_t segment = 0;         ///< bytes of each but the last, which may be shorter; 0: there is one packet
  std::optional<std::uint16_t> identification;  ///< IPv4: of the first packet, one more in each that follows
  bool congestion = false;                      ///< a router has marked it
  Address source;
  Address destination;
};

/// IPv4 with UDP: `bytes` starts with the virtio_net_hdr of PACKET_VNET_HDR, then the Ethernet header. False when it is
/// cut short, a fragment, has IP options, does not say "don't fragment", or its lengths contradict each other. `into`
/// is overwritten.
[[nodiscard]] bool parse_udp4_frame(std::span<std::byte> bytes, Frame& into) noexcept;

/// RoCEv1, from the Ethernet header on; bytes behind the GRH's payload length are padding. False as above.
[[nodiscard]] bool parse_roce1_frame(std::span<std::byte> bytes, Frame& into) noexcept;

}  // namespace rashpa::wire
