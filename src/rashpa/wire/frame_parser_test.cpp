// SPDX-License-Identifier: Apache-2.0
/// Frames are made by the codec, which shares no code with the parser.
#include "rashpa/wire/frame_parser.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "rashpa/wire/frame_header.hpp"
#include "rashpa/wire/gid.hpp"
#include "rashpa/wire/icrc.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::wire {
namespace {

constexpr MacAddress kMac{0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

Packet write_only(std::size_t payload) {
  Packet packet;
  packet.ethernet.emplace();
  packet.bth.opcode = 0x2A;
  packet.bth.destination_qp = 77;
  packet.reth = RethHeader{64, 5, {}};
  packet.payload.assign(payload, std::byte{0x3C});
  return packet;
}

Packet udp4(std::size_t payload = 100) {
  Packet packet = write_only(payload);
  packet.ipv4.emplace();
  packet.ipv4->source = {10, 0, 0, 1};
  packet.ipv4->destination = {10, 0, 0, 2};
  packet.ipv4->id = 0x1234;
  packet.udp = UdpHeader{5000, 6000, {}, {}};
  return packet;
}

Packet roce1(std::size_t payload = 100) {
  Packet packet = write_only(payload);
  packet.grh.emplace();
  packet.grh->source = gid_of(kMac);
  packet.grh->destination = gid_of({0x02, 0, 0, 0, 0, 9});
  return packet;
}

// As a socket with PACKET_VNET_HDR gives it.
std::vector<std::byte> with(const VirtualHeader& header, const Packet& packet) {
  std::vector<std::byte> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  const std::vector<std::byte> frame = encode(packet);
  bytes.insert(bytes.end(), frame.begin(), frame.end());
  return bytes;
}

bool parses(std::vector<std::byte> bytes) {
  Frame frame;
  return parse_udp4_frame(bytes, frame);
}
bool parses1(std::vector<std::byte> bytes) {
  Frame frame;
  return parse_roce1_frame(bytes, frame);
}

TEST(FrameParser, an_ipv4_frame_shows_its_identification_and_where_it_goes) {
  Packet packet = udp4();
  packet.ipv4->tos = 3;
  packet.trailing.assign(6, std::byte{9});
  std::vector<std::byte> bytes = with({}, packet);
  Frame frame;
  ASSERT_TRUE(parse_udp4_frame(bytes, frame));
  EXPECT_EQ(frame.identification, 0x1234);
  EXPECT_EQ(frame.segment, 0U);
  EXPECT_TRUE(frame.congestion);
  EXPECT_EQ(frame.source.text(), "10.0.0.1");
  EXPECT_EQ(frame.source.port(), 5000);
  EXPECT_EQ(frame.destination.port(), 6000);
  EXPECT_EQ(frame.transport.size(), 12U + 16U + 100U + 4U);
  IcrcPath path(frame.source, frame.destination);
  EXPECT_EQ(path.check(frame.transport, {0x1234, Identification::Is::seen}), IcrcCheck::exact);
  EXPECT_EQ(path.check(frame.transport, {0x1235, Identification::Is::seen}), IcrcCheck::bad);
  EXPECT_EQ(path.check(frame.transport, {0x1235, Identification::Is::expected}), IcrcCheck::modulo_id);
}

TEST(FrameParser, identification_zero_is_no_excuse_when_another_was_seen) {
  Packet packet = udp4();
  packet.ipv4->id = 0;
  std::vector<std::byte> bytes = with({}, packet);
  Frame frame;
  ASSERT_TRUE(parse_udp4_frame(bytes, frame));
  IcrcPath path(frame.source, frame.destination);
  EXPECT_EQ(path.check(frame.transport, {9, Identification::Is::expected}), IcrcCheck::exact) << "what Linux sends";
  EXPECT_EQ(path.check(frame.transport, {9, Identification::Is::seen}), IcrcCheck::bad);
}

TEST(FrameParser, a_merged_frame_is_cut_where_its_virtual_header_says) {
  std::vector<std::byte> bytes = with({.type = VirtualHeader::udp_l4, .segment = 48}, udp4());
  Frame frame;
  ASSERT_TRUE(parse_udp4_frame(bytes, frame));
  EXPECT_EQ(frame.segment, 48U);
  bytes = with({.type = VirtualHeader::udp_l4 | VirtualHeader::ecn, .segment = 9000}, udp4());
  ASSERT_TRUE(parse_udp4_frame(bytes, frame)) << "one segment, longer than the frame";
}

TEST(FrameParser, a_virtual_header_that_lies_is_refused_or_does_no_harm) {
  for (unsigned type = 0; type < 256; ++type) {
    for (const std::uint16_t segment : std::array<std::uint16_t, 6>{0, 1, 15, 16, 1000, 0xFFFF}) {
      const VirtualHeader header{.flags = 0xFF,
                                 .type = static_cast<std::uint8_t>(type),
                                 .header_bytes = 0xFFFF,
                                 .segment = segment,
                                 .checksum_start = 0xFFFF,
                                 .checksum_offset = 0xFFFF};
      const unsigned kind = type & 0x7FU;
      const bool fits = kind == VirtualHeader::plain || (kind == VirtualHeader::udp_l4 && segment >= 16);
      EXPECT_EQ(parses(with(header, udp4())), fits) << "type " << type << ", segment " << segment;
    }
  }
}

TEST(FrameParser, no_frame_that_is_cut_short_passes) {
  const std::vector<std::byte> v2 = with({}, udp4());
  const std::vector<std::byte> v1 = encode(roce1());
  ASSERT_TRUE(parses(v2));
  ASSERT_TRUE(parses1(v1));
  for (std::size_t size = 0; size < v2.size(); ++size) {
    EXPECT_FALSE(parses({v2.begin(), v2.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  }
  for (std::size_t size = 0; size < v1.size(); ++size) {
    EXPECT_FALSE(parses1({v1.begin(), v1.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  }
}

TEST(FrameParser, ipv4_that_is_not_as_roce_sends_it_is_refused) {
  const auto refused = [](auto&& change) {
    Packet packet = udp4();
    change(packet);
    return !parses(with({}, packet));
  };
  EXPECT_TRUE(refused([](Packet& p) { p.ipv4->flags = 0; }));
  EXPECT_TRUE(refused([](Packet& p) { p.ipv4->flags = 3; }));
  EXPECT_TRUE(refused([](Packet& p) { p.ipv4->fragment_offset = 1; }));
  EXPECT_TRUE(refused([](Packet& p) { p.ipv4->options.assign(4, std::byte{1}); }));
  EXPECT_TRUE(refused([](Packet& p) { p.ipv4->protocol = 6; }));
  EXPECT_TRUE(refused([](Packet& p) { p.ipv4->total_length = 28 + 15; }));
  EXPECT_TRUE(refused([](Packet& p) { p.ipv4->total_length = 0; }));
  EXPECT_TRUE(refused([](Packet& p) { p.ipv4->total_length = 161; }));
  EXPECT_TRUE(refused([](Packet& p) { p.udp->length = 139; }));
  EXPECT_TRUE(refused([](Packet& p) { p.udp->length = 0; }));
  EXPECT_TRUE(refused([](Packet& p) { p.ethernet->ethertype = 0x86DD; }));
}

TEST(FrameParser, a_roce1_frame_is_as_long_as_its_grh_says) {
  Packet packet = roce1(5);
  packet.grh->traffic_class = 3;
  packet.trailing.assign(11, std::byte{9});
  std::vector<std::byte> bytes = encode(packet);
  Frame frame;
  ASSERT_TRUE(parse_roce1_frame(bytes, frame));
  EXPECT_EQ(frame.transport.size(), 12U + 16U + 8U + 4U);
  EXPECT_TRUE(frame.congestion);
  EXPECT_FALSE(frame.identification);
  EXPECT_EQ(mac_of(frame.source.ip()), kMac);
  IcrcPath path(frame.source, frame.destination, Framing::v1);
  EXPECT_EQ(path.check(frame.transport, {}), IcrcCheck::exact);
  frame.transport[30] ^= std::byte{1};
  EXPECT_EQ(path.check(frame.transport, {}), IcrcCheck::bad);
}

TEST(FrameParser, a_grh_of_something_else_is_refused) {
  const auto refused = [](auto&& change) {
    Packet packet = roce1();
    change(packet);
    return !parses1(encode(packet));
  };
  EXPECT_TRUE(refused([](Packet& p) { p.grh->version = 4; }));
  EXPECT_TRUE(refused([](Packet& p) { p.grh->next_header = 17; }));
  EXPECT_TRUE(refused([](Packet& p) { p.grh->payload_length = 12; }));
  EXPECT_TRUE(refused([](Packet& p) { p.grh->payload_length = 131; }));
  EXPECT_TRUE(refused([](Packet& p) { p.grh->payload_length = 136; }));
  EXPECT_TRUE(refused([](Packet& p) { p.ethernet->ethertype = 0x86DD; }));
}

TEST(FrameParser, the_golden_roce1_packet_is_right) {
  std::vector<std::byte> bytes;
  const std::string hex =
      "7cfe90753cd87cfe90753cd889156020000000281b4000000000000000000000ffff0f00000200000000000000000000ffff0f0000020a70"
      "ffff0000010a80a788bc000055d4c0726000000047b3000000050000000001000000e3d856bb";
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  Frame frame;
  ASSERT_TRUE(parse_roce1_frame(bytes, frame));
  EXPECT_EQ(frame.transport.size(), 0x28U);
  IcrcPath path(frame.source, frame.destination, Framing::v1);
  EXPECT_EQ(path.check(frame.transport, {}), IcrcCheck::exact);
}

TEST(FrameHeader, is_what_the_codec_writes) {
  Packet packet = roce1(16);
  packet.ethernet->source = kMac;
  packet.ethernet->destination = {0x02, 0, 0, 0, 0, 9};
  packet.grh->traffic_class = 2;
  const std::vector<std::byte> frame = encode(packet);
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in6&>(storage);
  address.sin6_family = AF_INET6;
  const auto address_of = [&](const Gid& gid) {
    std::memcpy(&address.sin6_addr, gid.data(), gid.size());
    return Address(storage);
  };
  const FrameHeader header(address_of(packet.grh->source), address_of(packet.grh->destination),
                           FrameHeader::Ecn::capable);
  std::array<std::byte, FrameHeader::kBytes> made{};
  header.write(made.data(), 12 + 16 + 16 + 4);
  EXPECT_EQ(std::memcmp(made.data(), frame.data(), made.size()), 0);
}

TEST(Gid, and_mac_address_follow_from_each_other) {
  EXPECT_EQ(gid_address("fe80::8ec:aff:fe01:203%anything").text(), "fe80::8ec:aff:fe01:203");
  EXPECT_EQ(mac_of(gid_address("fe80::8ec:aff:fe01:203").ip()), (MacAddress{0x0A, 0xEC, 0x0A, 0x01, 0x02, 0x03}));
  EXPECT_EQ(mac_of(gid_of(kMac)), kMac);
  Gid other = gid_of(kMac);
  other[0] = 0x20;
  EXPECT_FALSE(mac_of(other));
  other = gid_of(kMac);
  other[7] = 1;
  EXPECT_FALSE(mac_of(other)) << "not fe80::/64";
  EXPECT_FALSE(mac_of(gid_of({0x01, 0, 0, 0, 0, 1}))) << "a group of stations";
  EXPECT_FALSE(mac_of(gid_of({}))) << "lo";
}

}  // namespace
}  // namespace rashpa::wire
