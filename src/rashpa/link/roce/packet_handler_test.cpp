// SPDX-License-Identifier: Apache-2.0
/// The receiving side without sockets: packets are made by the codec, which shares no code with the data path.
#include "rashpa/link/roce/packet_handler.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/wire/icrc.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::link::roce {
namespace {

constexpr std::uint32_t kQpn = 100;
constexpr std::uint32_t kKey = 0xCAFE;

class Handler : public ::testing::Test, public ArrivalOutput {
 protected:
  [[nodiscard]] bool ready(std::uint32_t /*dtp*/) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    arrivals.push_back(arrival);
    return true;
  }

  void make(NotFree not_free = NotFree::late, std::uint64_t images = 100,
            Packetisation packetisation = Packetisation::only) {
    options.pmtu = 256;
    options.packetisation = packetisation;
    dtp = testing::small_dtp(9, images, 4, 256, 3, 64);
    region.assign(testing::end_of(dtp) + 64, std::byte{0xEE});
    port = std::make_unique<PacketDtp>(dtp, 0, options, kKey, region, not_free, counters);
    handler = std::make_unique<PacketHandler>(options, kQpn, std::vector<PacketDtp*>{port.get()}, counters);
    source = std::make_unique<testing::Source>(dtp, nobody);
  }

  wire::Packet packet(std::uint8_t opcode, std::uint64_t address, std::span<const std::byte> payload) {
    wire::Packet made;
    made.ipv4.emplace();
    made.ipv4->source = made.ipv4->destination = {127, 0, 0, 1};
    made.udp = wire::UdpHeader{5000, 6000, {}, {}};
    made.bth.opcode = opcode;
    made.bth.destination_qp = kQpn;
    made.bth.psn = psn++;
    made.reth = wire::RethHeader{address, kKey, {}};
    made.payload.assign(payload.begin(), payload.end());
    return made;
  }
  void give_bytes(std::vector<std::byte> ip) {
    const wire::Address from("127.0.0.1", 5000);
    const wire::Address to("127.0.0.1", 6000);
    handler->handle({std::span(ip).subspan(28), 0, &from, &to, ++now}, *this);
    handler->decide_touched(now, *this);
  }
  void give(const wire::Packet& made) { give_bytes(encode(made)); }
  void line(std::uint64_t index, std::uint32_t number) {
    source->prepare(index);
    const Placement& p = dtp.placement;
    give(packet(0x2A, p.image_offset(index) + number * p.pitch, source->payload().subspan(number * 256UL, 256)));
  }
  wire::Packet event_packet(const FrameRecord& record) {
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    wire::Packet made = packet(0x2B, dtp.placement.record_offset(record.index), bytes);
    made.immediate = immediate_of(dtp.id, record.index);
    return made;
  }
  void event(std::uint64_t index) {
    source->prepare(index);
    give(event_packet(source->record(index)));
  }
  void image(std::uint64_t index) {
    for (std::uint32_t i = 0; i < 4; ++i) line(index, i);
    event(index);
  }
  Counts stats() const {
    Counts sum;
    counters.add_to(sum);
    return sum;
  }

  class Nobody final : public Sender {
   public:
    [[nodiscard]] Endpoint endpoint() const override { return {}; }
    std::size_t post(std::span<const BufferDescriptor>) override { return 0; }
    bool post_event(const Event&) override { return false; }
    std::size_t poll(std::uint32_t) override { return 0; }
    [[nodiscard]] std::size_t pending() const noexcept override { return 0; }
    [[nodiscard]] std::uint64_t granted() const noexcept override { return 0; }
    [[nodiscard]] std::uint32_t largest_message() const noexcept override { return 256; }
    [[nodiscard]] Counts stats() const override { return {}; }
  } nobody;

  Options options;
  ReceiverDtp dtp;
  std::vector<std::byte> region;
  PacketCounters counters;
  std::unique_ptr<PacketDtp> port;
  std::unique_ptr<PacketHandler> handler;
  std::unique_ptr<testing::Source> source;
  std::vector<Arrival> arrivals;
  std::uint32_t psn = 0;
  std::int64_t now = 1000;
};

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

TEST_F(Handler, a_whole_image_is_complete_and_lies_where_it_belongs) {
  make();
  image(0);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::complete);
  EXPECT_EQ(arrivals[0].proof, Proof::crc);
  EXPECT_EQ(arrivals[0].lines_missing, 0U);
  const Placement& p = dtp.placement;
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::memcmp(&region[p.image_offset(0) + i * p.pitch], &source->payload()[i * 256UL], 256), 0);
    EXPECT_EQ(region[p.image_offset(0) + i * p.pitch + 256], std::byte{0xEE}) << "the gap is not touched";
  }
  EXPECT_EQ(arrivals[0].record, *decode_frame_record(std::span(region).subspan(p.record_offset(0), 128)));
}

TEST_F(Handler, reordered_lines_behind_the_event_still_complete_the_image) {
  make();
  line(0, 2);
  line(0, 0);
  psn = 4;
  event(0);
  EXPECT_TRUE(arrivals.empty());
  psn = 2;
  line(0, 3);
  line(0, 1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::complete);
  EXPECT_EQ(arrivals[0].last_packet_ns, now) << "the deciding packet was the last line";
}

TEST_F(Handler, a_lost_line_is_partial_when_the_next_event_has_come) {
  make();
  for (std::uint32_t i : {0U, 1U, 3U}) line(0, i);
  event(0);
  for (std::uint32_t i = 0; i < 4; ++i) line(1, i);
  EXPECT_TRUE(arrivals.empty());
  event(1);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::partial);
  EXPECT_EQ(arrivals[0].loss, Loss::lines);
  EXPECT_EQ(arrivals[0].lines_missing, 1U);
  ASSERT_NE(arrivals[0].map, nullptr);
  EXPECT_FALSE(arrivals[0].map->line_arrived(2));
  EXPECT_TRUE(arrivals[0].map->line_arrived(3));
  EXPECT_EQ(arrivals[1].completeness, Completeness::complete);
}

TEST_F(Handler, a_line_of_an_image_a_ring_later_does_not_fill_the_gap_of_one_whose_event_has_come) {
  make(NotFree::overrun);
  for (std::uint32_t i : {0U, 1U, 3U}) line(0, i);
  event(0);
  psn += 10;  // images 1 and 2 are lost
  line(3, 2);
  const Placement& p = dtp.placement;
  EXPECT_EQ(region[p.image_offset(0) + 2 * p.pitch], std::byte{0xEE});
  EXPECT_EQ(stats()["overrun_packets"], 1U);
  event(3);
  ASSERT_GE(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::partial);
  EXPECT_FALSE(arrivals[0].map->line_arrived(2));
  EXPECT_TRUE(arrivals[0].map->line_arrived(3));
}

TEST_F(Handler,
       lines_of_an_image_a_ring_later_that_came_before_an_event_spoil_its_image_and_are_not_taken_for_its_own) {
  make(NotFree::overrun);
  for (std::uint32_t i : {0U, 1U, 3U}) line(0, i);
  psn = 15;  // image 0's event is late, 1 and 2 are lost
  line(3, 2);
  psn = 4;
  event(0);
  psn = 16;
  event(3);
  ASSERT_GE(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::partial);
  EXPECT_EQ(arrivals[0].lines_missing, 4U);
}

TEST_F(Handler, a_line_of_an_image_a_ring_before_does_not_begin_a_later_one) {
  make(NotFree::overrun);
  image(0);
  port->released = 1;
  handler->decide_all(++now, *this);
  psn = 1;
  source->prepare(0);
  give(packet(0x2A, dtp.placement.image_offset(3), source->payload().subspan(0, 256)));
  EXPECT_EQ(stats()["late_packets"], 1U);
  psn = 15;
  for (std::uint32_t i = 1; i < 4; ++i) line(3, i);
  event(3);
  port->closed = 4;
  handler->decide_all(++now, *this);
  ASSERT_EQ(arrivals.size(), 4U);
  EXPECT_EQ(arrivals[3].lines_missing, 1U);
  EXPECT_FALSE(arrivals[3].map->line_arrived(0));
}

TEST_F(Handler, a_lost_event_is_missing_eight_packets_behind_the_next_one) {
  make();
  for (std::uint32_t i = 0; i < 4; ++i) line(0, i);
  image(1);
  EXPECT_TRUE(arrivals.empty());
  for (std::uint32_t i = 0; i < 4; ++i) line(2, i);
  for (std::uint32_t i = 0; i < 3; ++i) line(2, i);
  EXPECT_TRUE(arrivals.empty());
  line(2, 3);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::missing);
  EXPECT_EQ(arrivals[0].loss, Loss::event);
  EXPECT_EQ(arrivals[0].lines_missing, 4U);
  EXPECT_EQ(arrivals[1].completeness, Completeness::complete);
}

TEST_F(Handler, a_lost_event_is_missing_when_two_later_events_have_come_or_time_has_passed) {
  make();
  image(1);
  event(2);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[0].loss, Loss::event);
  make();
  arrivals.clear();
  image(1);
  EXPECT_TRUE(arrivals.empty());
  handler->decide_all(now + 4'000'000, *this);
  EXPECT_TRUE(arrivals.empty());
  handler->decide_all(now + 6'000'000, *this);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[0].loss, Loss::event);
}

TEST_F(Handler, close_decides_everything_below_its_end) {
  make();
  line(0, 0);
  event(0);
  line(1, 0);
  port->closed = 3;
  handler->decide_all(++now, *this);
  ASSERT_EQ(arrivals.size(), 3U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::partial);
  EXPECT_EQ(arrivals[0].loss, Loss::lines);
  EXPECT_EQ(arrivals[1].completeness, Completeness::missing);
  EXPECT_EQ(arrivals[1].loss, Loss::deadline);
  event(1);
  EXPECT_EQ(arrivals.size(), 3U);
  EXPECT_EQ(stats()["duplicate_packets"], 1U) << "an event of an image already decided";
}

TEST_F(Handler, late_lines_of_a_decided_image_do_not_touch_memory) {
  make();
  for (std::uint64_t k = 0; k < 3; ++k) image(k);
  ASSERT_EQ(arrivals.size(), 3U);
  const auto before = region;
  line(4, 1);  // the slot of image 1, which is not released
  line(3, 1);
  EXPECT_TRUE(region == before);
  EXPECT_EQ(stats()["late_packets"], 2U);
  port->released = 1;
  handler->decide_all(++now, *this);
  line(3, 0);
  EXPECT_FALSE(region == before) << "the slot was released";
}

TEST_F(Handler, without_credits_a_full_ring_is_an_overrun) {
  make(NotFree::overrun);
  for (std::uint64_t k = 0; k < 5; ++k) image(k);
  ASSERT_EQ(arrivals.size(), 5U);
  EXPECT_EQ(arrivals[3].completeness, Completeness::missing);
  EXPECT_EQ(arrivals[3].loss, Loss::overrun);
  EXPECT_EQ(stats()["overrun_packets"], 10U);
  port->released = 5;
  handler->decide_all(++now, *this);
  image(5);
  image(6);
  ASSERT_EQ(arrivals.size(), 7U);
  EXPECT_EQ(arrivals[4].loss, Loss::overrun);
  EXPECT_EQ(arrivals[5].completeness, Completeness::complete);
  EXPECT_EQ(arrivals[6].completeness, Completeness::complete);
}

TEST_F(Handler, duplicates_are_counted_and_do_no_harm) {
  make();
  for (std::uint32_t i : {0U, 1U, 1U, 2U, 0U, 3U}) line(0, i);
  event(0);
  event(0);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::complete);
  EXPECT_EQ(stats()["duplicate_packets"], 3U);
}

TEST_F(Handler, wrong_pixels_fail_the_record_s_checksum) {
  make();
  for (std::uint32_t i = 0; i < 4; ++i) line(0, i);
  source->prepare(77);
  FrameRecord record = source->record(0);
  record.payload_crc32c ^= 1;
  give(event_packet(record));
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::partial);
  EXPECT_EQ(arrivals[0].loss, Loss::corrupt);
  EXPECT_EQ(arrivals[0].lines_missing, 4U);
  EXPECT_EQ(stats()["crc_mismatches"], 1U);
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

TEST_F(Handler, without_an_icrc_check_the_lines_of_a_partial_image_are_not_trusted) {
  options.icrc = IcrcMode::off;
  make();
  for (std::uint32_t i = 0; i < 3; ++i) line(0, i);
  event(0);
  image(1);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[0].completeness, Completeness::partial);
  EXPECT_EQ(arrivals[0].loss, Loss::corrupt);
  EXPECT_EQ(arrivals[0].lines_missing, 4U);
  EXPECT_EQ(arrivals[0].map, nullptr);
  EXPECT_EQ(stats()["crc_mismatches"], 0U) << "nothing was compared";
  EXPECT_EQ(arrivals[1].completeness, Completeness::complete);
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

TEST_F(Handler, the_middle_of_a_message_that_outlived_its_image_is_late) {
  make(NotFree::late, 100, Packetisation::first_middle_last);
  // Lines are not contiguous here, so that a message is a single line of this DTP: make it two packets long.
  dtp = testing::small_dtp(9, 100, 4, 512, 3);
  region.assign(testing::end_of(dtp), std::byte{0xEE});
  port = std::make_unique<PacketDtp>(dtp, 0, options, kKey, region, NotFree::late, counters);
  handler = std::make_unique<PacketHandler>(options, kQpn, std::vector<PacketDtp*>{port.get()}, counters);
  const std::vector<std::byte> bytes(256, std::byte{1});
  wire::Packet first = packet(0x26, dtp.placement.image_offset(0), bytes);
  first.reth->dma_length = 512;
  give(first);
  port->closed = 1;
  port->released = 1;
  handler->decide_all(++now, *this);
  handler->decide_all(++now, *this);
  const auto before = region;
  wire::Packet last = packet(0x28, 0, bytes);
  last.reth.reset();
  give(last);
  EXPECT_EQ(stats()["late_packets"], 1U);
  EXPECT_TRUE(region == before) << "it must not be taken for image 3, which has the same slot";
}

}  // namespace
}  // namespace rashpa::link::roce
