// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/packet/packet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "rashpa/core/error.hpp"
#include "rashpa/wire/icrc.hpp"
#include "rashpa/wire/testing.hpp"

namespace rashpa::wire {
namespace {

using testing::Bytes;
using testing::read_golden;
using testing::Record;
using testing::unhex;

Packet without_computed(Packet packet) {
  packet.icrc = {};
  packet.pad.reset();
  packet.bth.pad_count.reset();
  if (packet.ethernet) packet.ethernet->ethertype.reset();
  if (packet.ipv4) packet.ipv4->total_length = packet.ipv4->checksum = std::nullopt;
  if (packet.ipv6) packet.ipv6->payload_length.reset();
  if (packet.grh) packet.grh->payload_length.reset();
  if (packet.udp) packet.udp->length = packet.udp->checksum = std::nullopt;
  return packet;
}

// Every golden packet comes back byte for byte: as decoded, from its fields alone, and from each layer.
void check_both_ways(const Record& record) {
  SCOPED_TRACE(record.at("name"));
  const Bytes bytes = unhex(record.at("layer2"));
  const Packet packet = decode(bytes, Layer::ethernet);
  EXPECT_EQ(packet.icrc.verdict, IcrcVerdict::ok);
  EXPECT_EQ(encode(packet), bytes);
  EXPECT_EQ(encode(without_computed(packet)), bytes) << "lengths, checksums, padding and ICRC filled in";
  if (record.contains("opcode")) {
    EXPECT_EQ(opcode_name(packet.bth.opcode), record.at("opcode"));
    EXPECT_EQ(opcode_of(record.at("opcode")), packet.bth.opcode);
    EXPECT_EQ(packet.payload.size(), std::stoul(record.at("payload_bytes")));
    EXPECT_EQ(packet.pad->size(), std::stoul(record.at("pad")));
  }
  const std::size_t front = 14 + 4 * packet.vlan.size();
  const std::span<const std::byte> network = std::span(bytes).subspan(front);
  const Packet from_ip = decode(network, Layer::ip);
  EXPECT_EQ(from_ip.icrc, packet.icrc);
  EXPECT_EQ(encode(from_ip), Bytes(network.begin(), network.end()));
  const std::size_t headers = packet.ipv4 ? 28 + packet.ipv4->options.size() : packet.ipv6 ? 48 : 40;
  const auto transport = network.subspan(headers, network.size() - headers - packet.trailing.size());
  const Packet from_udp = decode(transport, Layer::udp_payload);
  EXPECT_EQ(from_udp.icrc.verdict, IcrcVerdict::unchecked);
  EXPECT_EQ(from_udp.bth, packet.bth);
  EXPECT_EQ(encode(from_udp), Bytes(transport.begin(), transport.end()));
  // A changed sequence number is found.
  Bytes damaged = bytes;
  damaged[front + headers + 10] ^= std::byte{1};
  EXPECT_NE(decode(damaged, Layer::ethernet).icrc.verdict, IcrcVerdict::ok);
}

TEST(Packet, golden_packets_come_back_byte_for_byte) {
  const auto records = read_golden("schema/golden/roce_packets.json");
  ASSERT_GE(records.size(), 25U) << "run the test in the project's root";
  for (const Record& record : records) check_both_ways(record);
}

TEST(Packet, reference_vectors_come_back_byte_for_byte) {
  const std::string path = "../shared/reference/roce_vectors.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto records = read_golden(path);
  ASSERT_FALSE(records.empty());
  for (const Record& record : records) {
    check_both_ways(record);
    const Packet packet = decode(unhex(record.at("layer2")), Layer::ethernet);
    EXPECT_EQ(packet.icrc.value, std::stoul(record.at("icrc"), nullptr, 16));
  }
}

Packet small_packet() {
  Packet packet;
  packet.ipv4.emplace();
  packet.ipv4->source = {192, 168, 0, 1};
  packet.ipv4->destination = {192, 168, 0, 2};
  packet.udp.emplace();
  packet.bth.opcode = 0x2A;
  packet.bth.destination_qp = 17;
  packet.reth.emplace();
  packet.payload.assign(9, std::byte{0x5A});
  return packet;
}

TEST(Packet, an_icrc_that_fits_another_identification_is_modulo_id) {
  Bytes bytes = encode(small_packet());
  bytes[4] = std::byte{0xAB};  // the identification that a router or a capture shows
  bytes[5] = std::byte{0xCD};
  const Packet packet = decode(bytes, Layer::ip);
  EXPECT_EQ(packet.icrc.verdict, IcrcVerdict::modulo_id);
  EXPECT_EQ(packet.icrc.ip_id, 0);
  EXPECT_EQ(name_of(packet.icrc.verdict), "modulo-id");
  EXPECT_EQ(encode(packet), bytes);
}

TEST(Packet, every_identification_is_recovered) {
  for (std::uint32_t id = 0; id < 65536; id += 257) {
    Packet packet = small_packet();
    packet.ipv4->id = static_cast<std::uint16_t>(id);
    Bytes bytes = encode(packet);
    bytes[4] = std::byte{0x12};  // no multiple of 257
    bytes[5] = std::byte{0x11};
    EXPECT_EQ(decode(bytes, Layer::ip).icrc.ip_id, static_cast<std::uint16_t>(id));
  }
}

TEST(Packet, nearly_every_damage_is_bad_and_not_modulo_id) {
  const Bytes good = encode(small_packet());
  int bad = 0;
  int bits = 0;
  for (std::size_t bit = std::size_t{28} * 8; bit < good.size() * 8; ++bit) {
    if (bit / 8 == 28 + 4) continue;
    Bytes damaged = good;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    try {
      ++bits;
      bad += decode(damaged, Layer::ip).icrc.verdict == IcrcVerdict::bad ? 1 : 0;
    } catch (const ConfigError&) {
      ++bad;
    }
  }
  EXPECT_GE(bad, bits - 1);
}

TEST(Packet, masked_fields_do_not_matter_to_the_icrc) {
  Packet packet = small_packet();
  const std::uint32_t icrc = *decode(encode(packet), Layer::ip).icrc.value;
  packet.ipv4->tos = 3;
  packet.ipv4->ttl = 1;
  packet.udp->checksum = 0x1234;
  packet.bth.becn = 1;
  EXPECT_EQ(decode(encode(packet), Layer::ip).icrc.value, icrc);
  packet.ipv4->id = 1;
  EXPECT_NE(decode(encode(packet), Layer::ip).icrc.value, icrc);
}

TEST(Packet, udp_checksum_is_computed_when_asked_for) {
  const Bytes bytes = encode(small_packet(), {UdpChecksum::compute});
  // The sum over pseudo header and datagram, checksum included, is all ones.
  std::uint32_t sum = 17 + static_cast<std::uint32_t>(bytes.size() - 20);
  for (std::size_t i = 12; i < bytes.size(); ++i) sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  EXPECT_EQ(sum, 0xFFFFU);
  EXPECT_EQ(decode(bytes, Layer::ip).icrc.verdict, IcrcVerdict::ok);
}

TEST(Packet, any_truncation_says_which_header_is_short) {
  for (const Record& record : read_golden("schema/golden/roce_packets.json")) {
    const Bytes bytes = unhex(record.at("layer2"));
    const std::size_t whole = bytes.size() - decode(bytes, Layer::ethernet).trailing.size();
    for (std::size_t size = 0; size<whole; size += whole> 300 ? 13 : 1) {
      try {
        decode(std::span(bytes).first(size), Layer::ethernet);
        FAIL() << record.at("name") << " cut to " << size;
      } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("bytes"));
      }
    }
  }
}

TEST(Packet, errors_name_what_is_wrong) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  const Bytes bytes = encode(small_packet());
  EXPECT_THAT(message([&] { decode(std::span(bytes).first(30), Layer::ip); }),
              ::testing::HasSubstr("IPv4 total length"));
  const std::span<const std::byte> transport = std::span(bytes).subspan(28);
  EXPECT_EQ(message([&] { decode(transport.first(20), Layer::udp_payload); }),
            "packet: the RETH needs 16 bytes from offset 12, and 8 are there; give the whole packet");
  Packet packet = small_packet();
  packet.reth.reset();
  EXPECT_EQ(message([&] { encode(packet); }), "packet: UC_RDMA_WRITE_ONLY needs a RETH; add it");
  packet = small_packet();
  packet.immediate = 1;
  EXPECT_EQ(message([&] { encode(packet); }), "packet: UC_RDMA_WRITE_ONLY has no ImmDt; leave it out");
  packet = small_packet();
  packet.bth.psn = 1 << 24;
  EXPECT_THAT(message([&] { encode(packet); }), ::testing::HasSubstr("bth.psn"));
  packet = small_packet();
  packet.ipv4.reset();
  packet.udp.reset();
  EXPECT_THAT(message([&] { encode(packet); }), ::testing::HasSubstr("ICRC covers an IP header"));
}

TEST(Icrc, the_fast_form_equals_the_codec) {
  const Address v4_from("10.0.0.1", 49152);
  const Address v4_to("10.0.0.2", 4791);
  for (const unsigned value : {0U, 1U, 63U, 64U, 40000U}) {
    const auto id = static_cast<std::uint16_t>(value);
    Packet packet = small_packet();
    packet.ipv4->source = {10, 0, 0, 1};
    packet.ipv4->destination = {10, 0, 0, 2};
    packet.ipv4->id = id;
    packet.bth.becn = 1;
    packet.udp->source_port = 49152;
    Bytes bytes = encode(packet);
    const std::span<std::byte> transport = std::span(bytes).subspan(28);
    IcrcPath path(v4_from, v4_to);
    EXPECT_EQ(path.check(transport, {id}), IcrcCheck::exact);
    EXPECT_EQ(path.check(transport, {7}), id == 0 ? IcrcCheck::exact : IcrcCheck::modulo_id);
    transport[20] ^= std::byte{4};
    EXPECT_EQ(path.check(transport, {id}), IcrcCheck::bad);
  }
  Packet packet = small_packet();
  packet.ipv4.reset();
  packet.ipv6.emplace();
  packet.ipv6->source[15] = packet.ipv6->destination[15] = 1;
  Bytes bytes = encode(packet);
  const std::span<std::byte> transport = std::span(bytes).subspan(48);
  IcrcPath path(Address("::1", 0xC000), Address("::1", 4791));
  EXPECT_EQ(path.check(transport, {3}), IcrcCheck::exact);
  transport[30] ^= std::byte{4};
  EXPECT_EQ(path.check(transport, {3}), IcrcCheck::bad);
}

}  // namespace
}  // namespace rashpa::wire
