// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A complete codec of RoCE packets for tools and tests: bytes ↔ a plain tree of headers. The data path has its own
/// fast forms of a few headers (wire.hpp); both are tested against the same golden packets.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rashpa::wire {

/// The layer at which the bytes start: Ethernet, IPv4/IPv6 header, or the UDP payload (BTH).
enum class Layer : std::uint8_t { ethernet, ip, udp_payload };

// Members that are std::optional in the headers below are always set by decode(); encode() fills them in when they are
// not set.

struct EthernetHeader {
  std::array<std::uint8_t, 6> destination{};
  std::array<std::uint8_t, 6> source{};
  std::optional<std::uint16_t> ethertype;  ///< after the VLAN tags: 0x0800, 0x86DD, 0x8915
  friend bool operator==(const EthernetHeader&, const EthernetHeader&) = default;
};
struct VlanTag {
  std::uint16_t tpid = 0x8100;  ///< 0x8100 or 0x88A8
  std::uint8_t priority = 0;    ///< 3 bits
  std::uint8_t dei = 0;         ///< 1 bit
  std::uint16_t id = 0;         ///< 12 bits
  friend bool operator==(const VlanTag&, const VlanTag&) = default;
};
struct Ipv4Header {
  std::uint8_t tos = 0;
  std::optional<std::uint16_t> total_length;
  std::uint16_t id = 0;
  std::uint8_t flags = 2;             ///< 3 bits: 2 don't fragment, 1 more fragments
  std::uint16_t fragment_offset = 0;  ///< 13 bits
  std::uint8_t ttl = 64;
  std::uint8_t protocol = 17;
  std::optional<std::uint16_t> checksum;
  std::array<std::uint8_t, 4> source{};
  std::array<std::uint8_t, 4> destination{};
  std::vector<std::byte> options;  ///< a multiple of 4 bytes, at most 40
  friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;
};
struct Ipv6Header {
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;  ///< 20 bits
  std::optional<std::uint16_t> payload_length;
  std::uint8_t next_header = 17;
  std::uint8_t hop_limit = 64;
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};
  friend bool operator==(const Ipv6Header&, const Ipv6Header&) = default;
};
/// The global route header of RoCEv1: the layout of IPv6 with next header 0x1B.
struct GrhHeader {
  std::uint8_t version = 6;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::optional<std::uint16_t> payload_length;
  std::uint8_t next_header = 0x1B;
  std::uint8_t hop_limit = 64;
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};
  friend bool operator==(const GrhHeader&, const GrhHeader&) = default;
};
struct UdpHeader {
  std::uint16_t source_port = 0xC000;
  std::uint16_t destination_port = 4791;
  std::optional<std::uint16_t> length;
  std::optional<std::uint16_t> checksum;  ///< if unset, written as 0 or, by EncodeOptions, as the real checksum
  friend bool operator==(const UdpHeader&, const UdpHeader&) = default;
};
struct BthHeader {
  std::uint8_t opcode = 0;
  std::uint8_t solicited = 0;
  std::uint8_t migration = 0;
  std::optional<std::uint8_t> pad_count;  ///< 0 … 3
  std::uint8_t version = 0;               ///< TVer, 4 bits
  std::uint16_t pkey = 0xFFFF;
  std::uint8_t fecn = 0;
  std::uint8_t becn = 0;
  std::uint8_t reserved6 = 0;
  std::uint32_t destination_qp = 0;  ///< 24 bits
  std::uint8_t ack_request = 0;
  std::uint8_t reserved7 = 0;
  std::uint32_t psn = 0;  ///< 24 bits
  friend bool operator==(const BthHeader&, const BthHeader&) = default;
};
struct DethHeader {
  std::uint32_t qkey = 0;
  std::uint8_t reserved = 0;
  std::uint32_t source_qp = 0;  ///< 24 bits
  friend bool operator==(const DethHeader&, const DethHeader&) = default;
};
struct RethHeader {
  std::uint64_t virtual_address = 0;
  std::uint32_t rkey = 0;
  std::optional<std::uint32_t> dma_length;  ///< if unset, written as the payload's length
  friend bool operator==(const RethHeader&, const RethHeader&) = default;
};
struct AethHeader {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  ///< 24 bits
  friend bool operator==(const AethHeader&, const AethHeader&) = default;
};
struct AtomicEthHeader {
  std::uint64_t virtual_address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  friend bool operator==(const AtomicEthHeader&, const AtomicEthHeader&) = default;
};

enum class IcrcVerdict : std::uint8_t {
  unchecked,  ///< there was no IP header for the check
  ok,
  modulo_id,  ///< correct for another IPv4 identification than the one shown: `ip_id`
  bad,
};
/// Returns "ok", "bad", "modulo-id" or "unchecked".
std::string_view name_of(IcrcVerdict verdict) noexcept;

struct Icrc {
  std::optional<std::uint32_t> value;     ///< the four bytes as a big-endian number, as captures print them: d96cfed1
  std::optional<std::uint32_t> computed;  ///< the correct value in the same form; unset without an IP header
  IcrcVerdict verdict = IcrcVerdict::unchecked;
  std::optional<std::uint16_t> ip_id;  ///< for modulo_id: the identification that makes the ICRC correct
  friend bool operator==(const Icrc&, const Icrc&) = default;
};

/// One packet. Its opcode determines its extended headers; an unknown opcode has none.
struct Packet {
  std::optional<EthernetHeader> ethernet;
  std::vector<VlanTag> vlan;
  std::optional<Ipv4Header> ipv4;
  std::optional<Ipv6Header> ipv6;
  std::optional<GrhHeader> grh;
  std::optional<UdpHeader> udp;
  BthHeader bth;
  std::optional<DethHeader> deth;
  std::optional<RethHeader> reth;
  std::optional<AtomicEthHeader> atomic;
  std::optional<AethHeader> aeth;
  std::optional<std::uint64_t> atomic_ack;  ///< the original value
  std::optional<std::uint32_t> immediate;
  std::optional<std::uint32_t> invalidate_rkey;  ///< IETH of a SEND with invalidate
  std::vector<std::byte> payload;
  std::optional<std::vector<std::byte>> pad;  ///< if unset, written as zeros
  Icrc icrc;
  std::vector<std::byte> trailing;  ///< bytes after the packet, such as Ethernet padding
  friend bool operator==(const Packet&, const Packet&) = default;
};

enum class UdpChecksum : std::uint8_t { zero, compute };
struct EncodeOptions {
  UdpChecksum udp_checksum = UdpChecksum::zero;  ///< value of an unset UDP checksum
};

/// Returns the name: "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RC_ACKNOWLEDGE", "CNP", …; "UNKNOWN_0x7f" for an opcode
/// without a name.
std::string opcode_name(std::uint8_t opcode);
/// Returns the opcode with a name of opcode_name(); nothing when there is none.
std::optional<std::uint8_t> opcode_of(std::string_view name);

/// Reads one packet from untrusted bytes. Throws ConfigError that names the short or wrong header and its requirements.
Packet decode(std::span<const std::byte> bytes, Layer start);

/// Writes the packet, from the outermost header that is set. Given values are written unchanged, even wrong ones; unset
/// values are computed. Throws ConfigError when the opcode lacks a needed header or has an extra one, or a field does
/// not fit its bits. Also throws it when the ICRC cannot be computed (no IP header, no value).
std::vector<std::byte> encode(const Packet& packet, const EncodeOptions& options = {});

}  // namespace rashpa::wire
