// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/icrc.hpp"
#include "rashpa/wire/packet/opcode.hpp"
#include "rashpa/wire/packet/packet.hpp"
#include "rashpa/wire/packet/packet_icrc.hpp"

namespace rashpa::wire {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint16_t kEthertypeIpv4 = 0x0800;
constexpr std::uint16_t kEthertypeIpv6 = 0x86DD;
constexpr std::uint16_t kEthertypeRoce1 = 0x8915;
constexpr std::uint8_t kUdpProtocol = 17;
constexpr std::uint8_t kIbaNextHeader = 0x1B;

// Takes headers off the front of the remaining bytes, and never more than there are.
class Reader {
 public:
  explicit Reader(Bytes bytes) : all_(bytes), end_(bytes.size()) {}

  Bytes take(std::size_t bytes, const char* what) {
    if (bytes > left()) {
      throw ConfigError(
          fmt::format("packet: the {} needs {} bytes from offset {}, and {} are there; give the whole packet", what,
                      bytes, at_, left()));
    }
    const Bytes taken = all_.subspan(at_, bytes);
    at_ += bytes;
    return taken;
  }
  [[nodiscard]] Bytes look(std::size_t bytes, const char* what) {
    Reader copy = *this;
    return copy.take(bytes, what);
  }
  // From here on only `bytes` belong to the packet.
  void limit(std::size_t bytes, const char* what) {
    if (bytes > left()) {
      throw ConfigError(fmt::format("packet: the {} says that {} bytes follow, and {} are there; give the whole packet",
                                    what, bytes, left()));
    }
    end_ = at_ + bytes;
  }
  [[nodiscard]] std::size_t left() const noexcept { return end_ - at_; }
  [[nodiscard]] Bytes behind() const noexcept { return all_.subspan(end_); }

 private:
  Bytes all_;
  std::size_t at_ = 0;
  std::size_t end_;
};

std::uint8_t u8(Bytes bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }
std::uint16_t u16(Bytes bytes, std::size_t at) { return load_be<std::uint16_t>(&bytes[at]); }
std::uint32_t u32(Bytes bytes, std::size_t at) { return load_be<std::uint32_t>(&bytes[at]); }
std::uint64_t u64(Bytes bytes, std::size_t at) { return load_be<std::uint64_t>(&bytes[at]); }
std::uint32_t u24(Bytes bytes, std::size_t at) { return u32(bytes, at - 1) & 0xFFFFFFU; }

template <std::size_t N>
std::array<std::uint8_t, N> octets(Bytes bytes, std::size_t at) {
  std::array<std::uint8_t, N> copy{};
  std::memcpy(copy.data(), bytes.subspan(at, N).data(), N);
  return copy;
}

std::vector<std::byte> copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

// The headers in front of the BTH, as raw bytes for the ICRC.
struct Front {
  bool known = false;
  NetworkHeader kind = NetworkHeader::ipv4;
  Bytes network;
  Bytes udp;
};

std::uint16_t read_ethernet(Reader& reader, Packet& packet) {
  const Bytes raw = reader.take(14, "Ethernet header");
  EthernetHeader header;
  header.destination = octets<6>(raw, 0);
  header.source = octets<6>(raw, 6);
  std::uint16_t type = u16(raw, 12);
  while (type == 0x8100 || type == 0x88A8) {
    const Bytes tag = reader.take(4, "VLAN tag");
    const std::uint16_t control = u16(tag, 0);
    packet.vlan.push_back({type, static_cast<std::uint8_t>(control >> 13),
                           static_cast<std::uint8_t>(control >> 12 & 1U),
                           static_cast<std::uint16_t>(control & 0xFFFU)});
    type = u16(tag, 2);
  }
  header.ethertype = type;
  packet.ethernet = header;
  return type;
}

void read_ipv4(Reader& reader, Packet& packet, Front& front) {
  const std::uint8_t first = u8(reader.look(20, "IPv4 header"), 0);
  const std::size_t bytes = std::size_t{4} * (first & 15U);
  if (first >> 4 != 4)
    throw ConfigError(
        fmt::format("packet: an IPv4 header has IP version {}; give the layer at which the packet begins", first >> 4));
  if (bytes < 20) throw ConfigError(fmt::format("packet: an IPv4 header has {} bytes; give 20 or more", bytes));
  const Bytes raw = reader.take(bytes, "IPv4 header with its options");
  Ipv4Header header;
  header.tos = u8(raw, 1);
  header.total_length = u16(raw, 2);
  header.id = u16(raw, 4);
  header.flags = static_cast<std::uint8_t>(u16(raw, 6) >> 13);
  header.fragment_offset = u16(raw, 6) & 0x1FFFU;
  header.ttl = u8(raw, 8);
  header.protocol = u8(raw, 9);
  header.checksum = u16(raw, 10);
  header.source = octets<4>(raw, 12);
  header.destination = octets<4>(raw, 16);
  header.options = copy_of(raw.subspan(20));
  if (header.protocol != kUdpProtocol) {
    throw ConfigError(fmt::format("packet: IPv4 protocol {} is not UDP (17); give a packet of RoCE", header.protocol));
  }
  if ((header.flags & 1U) != 0 || header.fragment_offset != 0) {
    throw ConfigError("packet: an IPv4 header is of a fragment; give a whole packet, as RoCE packets are");
  }
  if (*header.total_length < bytes) {
    throw ConfigError(fmt::format("packet: IPv4 total length {} is less than its header of {}; give the whole packet",
                                  *header.total_length, bytes));
  }
  reader.limit(*header.total_length - bytes, "IPv4 total length");
  packet.ipv4 = header;
  front = {true, NetworkHeader::ipv4, raw, {}};
}

// IPv6 and GRH have the same layout.
template <typename Header>
Header read_40(Bytes raw) {
  Header header;
  header.traffic_class = static_cast<std::uint8_t>(u16(raw, 0) >> 4 & 0xFFU);
  header.flow_label = u32(raw, 0) & 0xFFFFFU;
  header.payload_length = u16(raw, 4);
  header.next_header = u8(raw, 6);
  header.hop_limit = u8(raw, 7);
  header.source = octets<16>(raw, 8);
  header.destination = octets<16>(raw, 24);
  return header;
}

void read_ipv6(Reader& reader, Packet& packet, Front& front) {
  const Bytes raw = reader.take(40, "IPv6 header");
  if (u8(raw, 0) >> 4 != 6)
    throw ConfigError(fmt::format("packet: an IPv6 header has IP version {}; give the layer at which the packet begins",
                                  u8(raw, 0) >> 4));
  const auto header = read_40<Ipv6Header>(raw);
  if (header.next_header != kUdpProtocol) {
    throw ConfigError(
        fmt::format("packet: IPv6 next header {} is not UDP (17); give a packet of RoCE", header.next_header));
  }
  reader.limit(*header.payload_length, "IPv6 payload length");
  packet.ipv6 = header;
  front = {true, NetworkHeader::ipv6, raw, {}};
}

void read_grh(Reader& reader, Packet& packet, Front& front) {
  const Bytes raw = reader.take(40, "global route header");
  auto header = read_40<GrhHeader>(raw);
  header.version = static_cast<std::uint8_t>(u8(raw, 0) >> 4);
  if (header.next_header != kIbaNextHeader) {
    throw ConfigError(
        fmt::format("packet: GRH next header {:#x} is not a BTH (0x1b); give a packet of RoCE", header.next_header));
  }
  reader.limit(*header.payload_length, "GRH payload length");
  packet.grh = header;
  front = {true, NetworkHeader::grh, raw, {}};
}

void read_udp(Reader& reader, Packet& packet, Front& front) {
  const Bytes raw = reader.take(8, "UDP header");
  packet.udp = UdpHeader{u16(raw, 0), u16(raw, 2), u16(raw, 4), u16(raw, 6)};
  if (u16(raw, 4) < 8)
    throw ConfigError(
        fmt::format("packet: UDP length {} is less than its header of 8; give the whole packet", u16(raw, 4)));
  reader.limit(u16(raw, 4) - 8U, "UDP length");
  front.udp = raw;
}

void read_network(Reader& reader, Packet& packet, Front& front, Layer start) {
  enum class Kind : std::uint8_t { v4, v6, grh } kind{};
  if (start == Layer::ethernet) {
    const std::uint16_t type = read_ethernet(reader, packet);
    if (type != kEthertypeIpv4 && type != kEthertypeIpv6 && type != kEthertypeRoce1) {
      throw ConfigError(
          fmt::format("packet: ethertype 0x{:04x} is neither IPv4 (0x0800), IPv6 (0x86dd) nor RoCEv1 (0x8915); give a "
                      "packet of RoCE",
                      type));
    }
    kind = type == kEthertypeIpv4 ? Kind::v4 : type == kEthertypeIpv6 ? Kind::v6 : Kind::grh;
  } else {
    const std::uint8_t version = static_cast<std::uint8_t>(u8(reader.look(1, "IP header"), 0) >> 4);
    if (version != 4 && version != 6) {
      throw ConfigError(
          fmt::format("packet: IP version {} is neither 4 nor 6; give the layer at which the bytes start", version));
    }
    const bool grh = version == 6 && u8(reader.look(40, "IPv6 header"), 6) == kIbaNextHeader;
    kind = version == 4 ? Kind::v4 : grh ? Kind::grh : Kind::v6;
  }
  if (kind == Kind::grh) return read_grh(reader, packet, front);
  if (kind == Kind::v4) {
    read_ipv4(reader, packet, front);
  } else {
    read_ipv6(reader, packet, front);
  }
  read_udp(reader, packet, front);
}

BthHeader read_bth(Bytes raw) {
  BthHeader bth;
  bth.opcode = u8(raw, 0);
  bth.solicited = static_cast<std::uint8_t>(u8(raw, 1) >> 7);
  bth.migration = static_cast<std::uint8_t>(u8(raw, 1) >> 6 & 1U);
  bth.pad_count = static_cast<std::uint8_t>(u8(raw, 1) >> 4 & 3U);
  bth.version = u8(raw, 1) & 15U;
  bth.pkey = u16(raw, 2);
  bth.fecn = static_cast<std::uint8_t>(u8(raw, 4) >> 7);
  bth.becn = static_cast<std::uint8_t>(u8(raw, 4) >> 6 & 1U);
  bth.reserved6 = u8(raw, 4) & 0x3FU;
  bth.destination_qp = u24(raw, 5);
  bth.ack_request = static_cast<std::uint8_t>(u8(raw, 8) >> 7);
  bth.reserved7 = u8(raw, 8) & 0x7FU;
  bth.psn = u24(raw, 9);
  return bth;
}

void read_extended(Reader& reader, Packet& packet) {
  const OpcodeHeaders has = headers_of(packet.bth.opcode);
  if (has.deth) {
    const Bytes raw = reader.take(8, "DETH");
    packet.deth = DethHeader{u32(raw, 0), u8(raw, 4), u24(raw, 5)};
  }
  if (has.reth) {
    const Bytes raw = reader.take(16, "RETH");
    packet.reth = RethHeader{u64(raw, 0), u32(raw, 8), u32(raw, 12)};
  }
  if (has.atomic) {
    const Bytes raw = reader.take(28, "AtomicETH");
    packet.atomic = AtomicEthHeader{u64(raw, 0), u32(raw, 8), u64(raw, 12), u64(raw, 20)};
  }
  if (has.aeth) {
    const Bytes raw = reader.take(4, "AETH");
    packet.aeth = AethHeader{u8(raw, 0), u24(raw, 1)};
  }
  if (has.atomic_ack) packet.atomic_ack = u64(reader.take(8, "AtomicAckETH"), 0);
  if (has.immediate) packet.immediate = u32(reader.take(4, "ImmDt"), 0);
  if (has.invalidate) packet.invalidate_rkey = u32(reader.take(4, "IETH"), 0);
}

void judge_icrc(Packet& packet, const Front& front, Bytes transport, Bytes shown) {
  packet.icrc.value = u32(shown, 0);
  if (!front.known) return;
  const std::uint32_t computed = packet_icrc(front.kind, front.network, front.udp, transport);
  packet.icrc.computed = __builtin_bswap32(computed);
  if (packet.icrc.value == packet.icrc.computed) {
    packet.icrc.verdict = IcrcVerdict::ok;
    return;
  }
  packet.icrc.verdict = IcrcVerdict::bad;
  if (front.kind != NetworkHeader::ipv4) return;
  const std::size_t behind = front.network.size() - 6 + front.udp.size() + transport.size();
  const auto changed = changed_id_bits(computed ^ __builtin_bswap32(*packet.icrc.value), behind);
  if (!changed) return;
  packet.icrc.verdict = IcrcVerdict::modulo_id;
  packet.icrc.ip_id = static_cast<std::uint16_t>(packet.ipv4->id ^ *changed);
}

}  // namespace

Packet decode(std::span<const std::byte> bytes, Layer start) {
  Packet packet;
  Reader reader(bytes);
  Front front;
  if (start != Layer::udp_payload) read_network(reader, packet, front, start);
  const Bytes transport = reader.look(reader.left(), "transport");
  packet.bth = read_bth(reader.take(kBth, "BTH"));
  read_extended(reader, packet);
  const std::size_t pad = *packet.bth.pad_count;
  if (reader.left() < pad + kIcrc) {
    throw ConfigError(fmt::format(
        "packet: padding and ICRC need {} bytes behind the headers, and {} are there; give the whole packet",
        pad + kIcrc, reader.left()));
  }
  packet.payload = copy_of(reader.take(reader.left() - pad - kIcrc, "payload"));
  packet.pad = copy_of(reader.take(pad, "padding"));
  judge_icrc(packet, front, transport.first(transport.size() - kIcrc), reader.take(kIcrc, "ICRC"));
  packet.trailing = copy_of(reader.behind());
  return packet;
}

}  // namespace rashpa::wire
