// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the untrusted frames of an AF_PACKET socket: RoCEv2 on IPv4, and RoCEv1. A frame has one packet, or several
/// that the kernel has not cut yet (a sender's GSO crosses veth and lo uncut).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/wire/address.hpp"

namespace rashpa::wire {

/// The bits of an IP header's traffic class by which routers mark congestion.
inline constexpr std::uint8_t kEcnMask = 3;
inline constexpr std::uint8_t kEcnCapable = 2;  ///< ECT(0)
inline constexpr std::uint8_t kEcnCongestion = 3;

/// The header that PACKET_VNET_HDR puts before a frame (virtio_net_hdr; the kernel's header is no C++). Only the fields
/// for cutting the frame are read.
struct VirtualHeader {
  enum Type : std::uint8_t { plain = 0, udp_l4 = 5, ecn = 0x80 };
  std::uint8_t flags = 0;
  std::uint8_t type = plain;
  std::uint16_t header_bytes = 0;
  std::uint16_t segment = 0;  ///< payload bytes of each packet
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;
};

/// A complete, valid frame whose ICRC is not checked.
struct Frame {
  std::span<std::byte> transport;  ///< BTH … ICRC of the packets
  std::size_t segment = 0;         ///< bytes of each packet but the last, which may be shorter; 0: there is one packet
  std::optional<std::uint16_t> identification;  ///< for IPv4: of the first packet; each further packet has one more
  bool congestion = false;                      ///< true: a router has marked it
  Address source;
  Address destination;
};

/// Parses an IPv4 frame with UDP. `bytes` begins with the virtio_net_hdr of PACKET_VNET_HDR, then the Ethernet header.
/// Returns false when the frame is truncated, is a fragment, has IP options, lacks "don't fragment", or has
/// contradictory lengths. `into` is overwritten.
[[nodiscard]] bool parse_udp4_frame(std::span<std::byte> bytes, Frame& into) noexcept;

/// Parses a RoCEv1 frame from the Ethernet header on; bytes behind the GRH's payload length are padding. Returns false
/// as parse_udp4_frame() does.
[[nodiscard]] bool parse_roce1_frame(std::span<std::byte> bytes, Frame& into) noexcept;

}  // namespace rashpa::wire
