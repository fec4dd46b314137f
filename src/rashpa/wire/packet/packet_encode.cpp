// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/packet/opcode.hpp"
#include "rashpa/wire/packet/packet.hpp"
#include "rashpa/wire/packet/packet_icrc.hpp"

namespace rashpa::wire {

namespace {

using Bytes = std::span<const std::byte>;

class Writer {
 public:
  void u8(std::uint32_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void u16(std::uint32_t value) {
    u8(value >> 8);
    u8(value & 0xFFU);
  }
  void u32(std::uint32_t value) {
    u16(value >> 16);
    u16(value & 0xFFFFU);
  }
  void u64(std::uint64_t value) {
    u32(static_cast<std::uint32_t>(value >> 32));
    u32(static_cast<std::uint32_t>(value));
  }
  template <std::size_t N>
  void octets(const std::array<std::uint8_t, N>& value) {
    for (const std::uint8_t octet : value) u8(octet);
  }
  void raw(Bytes value) { bytes_.insert(bytes_.end(), value.begin(), value.end()); }

  std::vector<std::byte> bytes_;
};

// Refuses what would not come back as it was given.
std::uint32_t fit(std::uint32_t value, unsigned bits, const char* name) {
  if (value >> bits != 0)
    throw ConfigError(fmt::format("packet: {} = {:#x} does not fit {} bits; give a smaller number", name, value, bits));
  return value;
}

std::uint16_t length16(std::size_t bytes, const char* name) {
  if (bytes > 0xFFFF)
    throw ConfigError(fmt::format("packet: {} would be {}; shorten it to 65535 or less", name, bytes));
  return static_cast<std::uint16_t>(bytes);
}

// Ones' complement sum of RFC 1071.
std::uint32_t internet_sum(Bytes bytes, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    if (sum >> 31 != 0) sum = (sum & 0xFFFFU) + (sum >> 16);
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFFU) + (sum >> 16);
  return sum;
}

// The header is there exactly when the opcode has it.
template <typename T>
bool present(const std::optional<T>& header, bool wanted, const char* name, std::uint8_t opcode) {
  if (header.has_value() == wanted) return wanted;
  throw ConfigError(fmt::format("packet: {} {} {}; {}", opcode_name(opcode), wanted ? "needs a" : "has no", name,
                                wanted ? "add it" : "leave it out"));
}

void write_extended(Writer& out, const Packet& packet) {
  const std::uint8_t opcode = packet.bth.opcode;
  const OpcodeHeaders has = headers_of(opcode);
  if (present(packet.deth, has.deth, "DETH", opcode)) {
    out.u32(packet.deth->qkey);
    out.u8(packet.deth->reserved);
    const std::uint32_t qp = fit(packet.deth->source_qp, 24, "deth.source_qp");
    out.u8(qp >> 16);
    out.u16(qp & 0xFFFFU);
  }
  if (present(packet.reth, has.reth, "RETH", opcode)) {
    out.u64(packet.reth->virtual_address);
    out.u32(packet.reth->rkey);
    out.u32(packet.reth->dma_length.value_or(static_cast<std::uint32_t>(packet.payload.size())));
  }
  if (present(packet.atomic, has.atomic, "AtomicETH", opcode)) {
    out.u64(packet.atomic->virtual_address);
    out.u32(packet.atomic->rkey);
    out.u64(packet.atomic->swap_or_add);
    out.u64(packet.atomic->compare);
  }
  if (present(packet.aeth, has.aeth, "AETH", opcode)) {
    out.u32(std::uint32_t{packet.aeth->syndrome} << 24 | fit(packet.aeth->msn, 24, "aeth.msn"));
  }
  if (present(packet.atomic_ack, has.atomic_ack, "AtomicAckETH", opcode)) out.u64(*packet.atomic_ack);
  if (present(packet.immediate, has.immediate, "ImmDt", opcode)) out.u32(*packet.immediate);
  if (present(packet.invalidate_rkey, has.invalidate, "IETH", opcode)) out.u32(*packet.invalidate_rkey);
}

// BTH … pad, without the ICRC.
std::vector<std::byte> transport_of(const Packet& packet) {
  const BthHeader& bth = packet.bth;
  const std::size_t pad_bytes = packet.pad ? packet.pad->size() : bth.pad_count.value_or(pad_of(packet.payload.size()));
  const std::uint32_t pad_count = bth.pad_count.value_or(static_cast<std::uint8_t>(pad_bytes));
  Writer out;
  out.u8(bth.opcode);
  out.u8(fit(bth.solicited, 1, "bth.solicited") << 7 | fit(bth.migration, 1, "bth.migration") << 6 |
         fit(pad_count, 2, "bth.pad_count") << 4 | fit(bth.version, 4, "bth.version"));
  out.u16(bth.pkey);
  out.u32(fit(bth.fecn, 1, "bth.fecn") << 31 | fit(bth.becn, 1, "bth.becn") << 30 |
          fit(bth.reserved6, 6, "bth.reserved6") << 24 | fit(bth.destination_qp, 24, "bth.destination_qp"));
  out.u32(fit(bth.ack_request, 1, "bth.ack_request") << 31 | fit(bth.reserved7, 7, "bth.reserved7") << 24 |
          fit(bth.psn, 24, "bth.psn"));
  write_extended(out, packet);
  out.raw(packet.payload);
  if (packet.pad) {
    out.raw(*packet.pad);
  } else {
    out.bytes_.resize(out.bytes_.size() + pad_bytes);
  }
  return std::move(out.bytes_);
}

// `following`: bytes behind this header.
std::vector<std::byte> ipv4_bytes(const Ipv4Header& header, std::size_t following) {
  if (header.options.size() % 4 != 0 || header.options.size() > 40) {
    throw ConfigError(fmt::format("packet: {} bytes of IPv4 options are not possible; give a multiple of 4 up to 40",
                                  header.options.size()));
  }
  const std::size_t bytes = 20 + header.options.size();
  Writer out;
  out.u8(0x40U | static_cast<std::uint32_t>(bytes / 4));
  out.u8(header.tos);
  out.u16(header.total_length ? *header.total_length : length16(bytes + following, "the IPv4 total length"));
  out.u16(header.id);
  out.u16(fit(header.flags, 3, "ipv4.flags") << 13 | fit(header.fragment_offset, 13, "ipv4.fragment_offset"));
  out.u8(header.ttl);
  out.u8(header.protocol);
  out.u16(header.checksum.value_or(0));
  out.octets(header.source);
  out.octets(header.destination);
  out.raw(header.options);
  if (!header.checksum) store_be(&out.bytes_[10], static_cast<std::uint16_t>(~internet_sum(out.bytes_)));
  return std::move(out.bytes_);
}

template <typename Header>
std::vector<std::byte> ipv6_bytes(const Header& header, std::uint32_t version, std::size_t following) {
  Writer out;
  out.u32(fit(version, 4, "grh.version") << 28 | std::uint32_t{header.traffic_class} << 20 |
          fit(header.flow_label, 20, "flow_label"));
  out.u16(header.payload_length ? *header.payload_length : length16(following, "the payload length"));
  out.u8(header.next_header);
  out.u8(header.hop_limit);
  out.octets(header.source);
  out.octets(header.destination);
  return std::move(out.bytes_);
}

std::vector<std::byte> udp_bytes(const UdpHeader& header, std::size_t following) {
  Writer out;
  out.u16(header.source_port);
  out.u16(header.destination_port);
  out.u16(header.length ? *header.length : length16(8 + following, "the UDP length"));
  out.u16(header.checksum.value_or(0));
  return std::move(out.bytes_);
}

// Checksum of the pseudo header (RFC 768, RFC 8200), the UDP header and its payload.
std::uint16_t udp_checksum(const Packet& packet, Bytes udp, Bytes payload) {
  Writer pseudo;
  if (packet.ipv4) {
    pseudo.octets(packet.ipv4->source);
    pseudo.octets(packet.ipv4->destination);
  } else {
    pseudo.octets(packet.ipv6->source);
    pseudo.octets(packet.ipv6->destination);
  }
  pseudo.u32(static_cast<std::uint32_t>(udp.size() + payload.size()));
  pseudo.u32(17);
  const std::uint32_t sum = internet_sum(payload, internet_sum(udp, internet_sum(pseudo.bytes_)));
  const auto checksum = static_cast<std::uint16_t>(~sum);
  return checksum == 0 ? 0xFFFF : checksum;  // 0 means that there is none
}

std::vector<std::byte> ethernet_bytes(const Packet& packet) {
  Writer out;
  out.octets(packet.ethernet->destination);
  out.octets(packet.ethernet->source);
  for (const VlanTag& tag : packet.vlan) {
    out.u16(tag.tpid);
    out.u16(fit(tag.priority, 3, "vlan.priority") << 13 | fit(tag.dei, 1, "vlan.dei") << 12 |
            fit(tag.id, 12, "vlan.id"));
  }
  const std::uint16_t type = packet.ipv4 ? 0x0800 : packet.ipv6 ? 0x86DD : 0x8915;
  out.u16(packet.ethernet->ethertype.value_or(type));
  return std::move(out.bytes_);
}

void check_stack(const Packet& packet) {
  const int networks = packet.ipv4.has_value() + packet.ipv6.has_value() + packet.grh.has_value();
  if (networks > 1) throw ConfigError("packet: several of ipv4, ipv6 and grh are given; give one");
  if (networks == 0 && packet.ethernet)
    throw ConfigError("packet: an Ethernet header has no network header behind it; add ipv4, ipv6 or grh");
  if (!packet.vlan.empty() && !packet.ethernet)
    throw ConfigError("packet: a VLAN tag has no Ethernet header before it; add ethernet");
  const bool ip = packet.ipv4 || packet.ipv6;
  if (ip && !packet.udp) throw ConfigError("packet: an IP header has no UDP header behind it; add udp");
  if (!ip && packet.udp) throw ConfigError("packet: a UDP header has no IP header before it; add ipv4 or ipv6");
  if (networks == 0 && !packet.icrc.value) {
    throw ConfigError(
        "packet: the ICRC covers an IP header, which is missing; add ipv4 or ipv6, or give the ICRC's value");
  }
}

}  // namespace

std::vector<std::byte> encode(const Packet& packet, const EncodeOptions& options) {
  check_stack(packet);
  const std::vector<std::byte> transport = transport_of(packet);
  const std::size_t body = transport.size() + kIcrc;
  std::vector<std::byte> udp;
  std::vector<std::byte> network;
  NetworkHeader kind = NetworkHeader::grh;
  if (packet.udp) udp = udp_bytes(*packet.udp, body);
  if (packet.ipv4) {
    kind = NetworkHeader::ipv4;
    network = ipv4_bytes(*packet.ipv4, udp.size() + body);
  } else if (packet.ipv6) {
    kind = NetworkHeader::ipv6;
    network = ipv6_bytes(*packet.ipv6, 6, udp.size() + body);
  } else if (packet.grh) {
    network = ipv6_bytes(*packet.grh, packet.grh->version, body);
  }
  Writer tail;
  tail.raw(transport);
  tail.u32(packet.icrc.value ? *packet.icrc.value : __builtin_bswap32(packet_icrc(kind, network, udp, transport)));
  if (packet.udp && !packet.udp->checksum && options.udp_checksum == UdpChecksum::compute) {
    store_be(&udp[6], udp_checksum(packet, udp, tail.bytes_));
  }
  Writer out;
  if (packet.ethernet) out.raw(ethernet_bytes(packet));
  out.raw(network);
  out.raw(udp);
  out.raw(tail.bytes_);
  out.raw(packet.trailing);
  return std::move(out.bytes_);
}

}  // namespace rashpa::wire
