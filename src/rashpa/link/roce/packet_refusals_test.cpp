// SPDX-License-Identifier: Apache-2.0
/// Packets that are not taken, each in a counter of its own kind.
#include <gtest/gtest.h>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/roce/packet_handler_testing.hpp"
#include "rashpa/wire/icrc.hpp"

namespace rashpa::link::roce {
namespace {

// Whatever an opcode, a length and a RETH say: a packet that reaches a queue pair of ours is in a counter of its own
// kind.
TEST_F(Handler, no_packet_of_any_opcode_and_length_is_uncounted) {
  const wire::Address from("127.0.0.1", 5000);
  const wire::Address to("127.0.0.1", 6000);
  wire::IcrcPath path(from, to);
  const auto counted = [&] {
    std::uint64_t sum = 0;
    for (const auto& [name, value] : stats()) {
      if (name != "packets" && name != "icrc_exact" && name != "icrc_modulo_id") sum += value;
    }
    return sum;
  };
  std::size_t sent = 0;
  for (const Transport transport : {Transport::uc, Transport::rc, Transport::ud}) {
    for (const bool records : {true, false}) {
      options.transport = transport;
      options.records = records;
      make(NotFree::late, 100, Packetisation::first_middle_last);
      for (unsigned opcode = 0; opcode < 256; ++opcode) {
        for (std::size_t size = 0; size < 340; size += opcode % 32 < 12 ? 1 : 13) {
          for (unsigned way = 0; way < 4; ++way) {
            std::vector<std::byte> bytes(size, way == 3 ? std::byte{0xA5} : std::byte{0});
            if (size >= wire::kBth + wire::kIcrc) {
              const std::uint32_t number = port->rc() != nullptr ? port->rc()->expected_psn() : psn++;
              wire::store_bth(bytes.data(), static_cast<std::uint8_t>(opcode), 0, kQpn, number);
              const std::size_t reth = (opcode >> 5U) == 3 ? wire::kBth + wire::kDeth : wire::kBth;
              if (way > 0 && way < 3 && size >= reth + wire::kReth + wire::kIcrc) {
                const std::size_t payload = size - reth - wire::kReth - wire::kIcrc;
                const std::uint64_t place = way == 1 ? dtp.placement.image_offset(0) : region.size() - 64;
                wire::store_reth(bytes.data() + reth, {place, kKey, static_cast<std::uint32_t>(payload)});
              }
              const std::size_t covered = size - wire::kIcrc;
              bytes[4] = std::byte{0xFF};
              const std::uint32_t icrc = crc32(std::span(bytes).first(covered), path.start(size, 0));
              bytes[4] = std::byte{0};
              std::memcpy(bytes.data() + covered, &icrc, sizeof icrc);
            }
            const std::uint64_t before = counted();
            handler->handle({bytes, 0, &from, &to, ++now}, *this);
            handler->decide_touched(now, *this);
            ++sent;
            ASSERT_GT(counted(), before) << "opcode " << opcode << ", " << size << " bytes, way " << way
                                         << ", transport " << static_cast<int>(transport) << ", records " << records;
          }
        }
      }
    }
  }
  EXPECT_GT(sent, 4800U);
}

// Lengths into which the system cuts datagrams, and the rest of them.
TEST_F(Handler, every_piece_of_a_datagram_is_counted) {
  make();
  const wire::Address from("127.0.0.1", 5000);
  const wire::Address to("127.0.0.1", 6000);
  for (std::size_t size = 0; size < 200; ++size) {
    for (std::size_t segment = 0; segment <= size + 1; ++segment) {
      std::vector<std::byte> bytes(size);
      const std::uint64_t before = stats()["malformed"] + stats()["icrc_bad"];
      handler->handle({bytes, segment, &from, &to, ++now}, *this);
      const std::size_t pieces = segment == 0 || size == 0 ? 1 : (size + segment - 1) / segment;
      ASSERT_EQ(stats()["malformed"] + stats()["icrc_bad"], before + pieces) << size << " by " << segment;
    }
  }
}

TEST_F(Handler, a_refused_message_is_counted_with_each_of_its_packets) {
  make(NotFree::late, 100, Packetisation::first_middle_last);
  std::vector<std::byte> bytes(256);
  wire::Packet first = packet(0x26, dtp.placement.image_offset(0) + 300, bytes);  // across the end of a line
  first.reth->dma_length = 3 * 256;
  give(first);
  wire::Packet next = packet(0x27, 0, bytes);
  next.reth.reset();
  give(next);
  next = packet(0x28, 0, bytes);
  next.reth.reset();
  give(next);
  EXPECT_EQ(stats()["refused_key"], 3U);
}

TEST_F(Handler, packets_with_a_wrong_key_place_or_form_are_counted_and_dropped) {
  make();
  const auto before = region;
  const std::vector<std::byte> bytes(256, std::byte{1});
  const Placement& p = dtp.placement;
  wire::Packet bad = packet(0x2A, p.image_offset(0), bytes);
  bad.reth->rkey = kKey + 1;
  give(bad);
  give(packet(0x2A, region.size() - 100, bytes));
  give(packet(0x2A, p.image_offset(0) + 4, bytes));                  // into the gap behind the line
  give(packet(0x2A, p.image_offset(0) - 4, bytes));                  // before the first line
  give(packet(0x2A, p.image_offset(0), std::span(bytes).first(8)));  // no whole unit
  give(packet(0x2A, p.records_offset + 1, std::span(bytes).first(128)));
  EXPECT_EQ(stats()["refused_key"], 5U);
  EXPECT_EQ(stats()["refused_alignment"], 1U);
  bad = packet(0x2A, p.image_offset(0), bytes);
  bad.bth.destination_qp = kQpn + 1;
  give(bad);
  EXPECT_EQ(stats()["unknown_qp"], 1U);
  bad = packet(0x2A, p.image_offset(0), bytes);
  bad.bth.pkey = 0x7FFF;
  give(bad);
  bad = packet(0x2A, p.image_offset(0), bytes);
  bad.bth.version = 1;
  give(bad);
  EXPECT_EQ(stats()["malformed"], 2U);
  bad = packet(0x2A, p.image_offset(0), bytes);
  bad.icrc.value = 0x12345678;
  give(bad);
  EXPECT_EQ(stats()["icrc_bad"], 1U);
  port->source_known = true;
  port->source_ip = {10, 0, 0, 1};
  line(0, 0);
  EXPECT_EQ(stats()["unknown_qp"], 1U);
  EXPECT_EQ(stats()["wrong_source"], 1U);
  EXPECT_TRUE(region == before);
  EXPECT_EQ(stats()["payload_bytes"], 0U);
}

TEST_F(Handler, only_the_connected_source_is_taken_from_whatever_port_it_sends) {
  make();
  port->source_known = true;
  port->source_ip = wire::Address("127.0.0.1", 0).ip();
  const auto from = [&](const char* address, std::uint16_t udp_port) {
    wire::Packet made = packet(0x2A, dtp.placement.image_offset(0), source->payload().first(256));
    made.ipv4->source = {127, 0, 0, static_cast<std::uint8_t>(address[8] - '0')};
    made.udp->source_port = udp_port;
    std::vector<std::byte> bytes = encode(made);
    const wire::Address sender(address, udp_port);
    const wire::Address to("127.0.0.1", 6000);
    handler->handle({std::span(bytes).subspan(28), 0, &sender, &to, ++now}, *this);
  };
  from("127.0.0.2", 5000);
  EXPECT_EQ(stats()["wrong_source"], 1U);
  EXPECT_EQ(stats()["payload_bytes"], 0U);
  from("127.0.0.1", 5000);
  from("127.0.0.1", 50001);  // routers spread flows by it: an RNIC may change it at any packet
  EXPECT_EQ(stats()["wrong_source"], 1U);
  EXPECT_EQ(stats()["payload_bytes"], 512U);
  EXPECT_EQ(stats()["icrc_bad"], 0U);
}

TEST_F(Handler, only_records_of_this_run_and_dtp_are_events) {
  make();
  const auto wrong = [&](auto&& change) {
    source->prepare(0);
    FrameRecord record = source->record(0);
    change(record);
    give(event_packet(record));
  };
  wrong([](FrameRecord& r) { r.run += 1; });
  wrong([](FrameRecord& r) { r.dtp += 1; });
  wrong([](FrameRecord& r) { r.frame_number += 1; });
  wrong([](FrameRecord& r) { r.lines += 1; });
  wrong([](FrameRecord& r) { r.payload_bytes += 1; });
  wrong([](FrameRecord& r) { r.slot = 1; });
  wrong([](FrameRecord& r) { r.index = 100; });
  wire::Packet packet = event_packet(source->record(0));
  packet.immediate = 5;
  give(packet);
  EXPECT_EQ(stats()["bad_records"], 8U);
  EXPECT_EQ(stats()["events"], 0U);
  EXPECT_TRUE(arrivals.empty());
}

TEST_F(Handler, reserved_and_migration_bits_are_ignored) {
  make();
  for (std::uint32_t i = 0; i < 4; ++i) {
    source->prepare(0);
    const Placement& p = dtp.placement;
    wire::Packet made = packet(0x2A, p.image_offset(0) + i * p.pitch, source->payload().subspan(i * 256UL, 256));
    made.bth.migration = 1;
    made.bth.becn = 1;
    made.bth.reserved6 = 0x3F;
    give(made);
  }
  event(0);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::complete);
}

TEST_F(Handler, an_unknown_identification_is_checked_modulo_id) {
  make();
  source->prepare(0);
  wire::Packet made = packet(0x2A, dtp.placement.image_offset(0), source->payload().first(256));
  made.ipv4->id = 0xBEEF;
  give(made);
  EXPECT_EQ(stats()["icrc_modulo_id"], 1U);
  EXPECT_EQ(stats()["icrc_exact"], 0U);
}

}  // namespace
}  // namespace rashpa::link::roce
