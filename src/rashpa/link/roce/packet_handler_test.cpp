// SPDX-License-Identifier: Apache-2.0
/// The fate of images, packet by packet; refused packets are packet_refusals_test.cpp.
#include "rashpa/link/roce/packet_handler.hpp"

#include <gtest/gtest.h>

#include "rashpa/link/roce/packet_handler_testing.hpp"

namespace rashpa::link::roce {
namespace {

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

TEST_F(Handler, a_line_of_an_image_a_ring_before_does_not_fill_the_gap_of_one_whose_event_has_come) {
  make();
  image(0);
  port->released = 1;
  handler->decide_all(++now, *this);
  psn = 15;  // behind images 1 and 2
  for (std::uint32_t i = 1; i < 4; ++i) line(3, i);
  event(3);
  psn = 1;  // a copy of a line of image 0 that was late
  source->prepare(0);
  give(packet(0x2A, dtp.placement.image_offset(3), source->payload().subspan(0, 256)));
  EXPECT_EQ(stats()["late_packets"], 1U);
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

TEST_F(Handler, a_source_that_waits_takes_no_receive_from_its_images) {
  options.transport = Transport::rc;
  make();
  const auto as_rc = [&](wire::Packet made) {
    made.bth.opcode = wire::as_rc(made.bth.opcode);
    give(made);
  };
  const auto image_by_rc = [&](std::uint64_t index) {
    source->prepare(index);
    const std::uint64_t at = dtp.placement.image_offset(index);
    for (std::uint32_t n = 0; n < 4; ++n)
      as_rc(packet(0x2A, at + n * dtp.placement.pitch, source->payload().subspan(n * 256UL, 256)));
    as_rc(event_packet(source->record(index)));
  };
  image_by_rc(0);
  FrameRecord waits = source->record(0);  // of the latest image, none of which was skipped
  waits.flags = FrameRecord::skipped;
  waits.user = {};
  for (int word = 0; word < 20; ++word) {  // there are receives for six: twice the slots
    wire::Packet made = event_packet(waits);
    made.reth->virtual_address = dtp.placement.skip_offset();
    as_rc(made);
  }
  EXPECT_EQ(stats()["skip_events"], 20U);
  image_by_rc(1);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[1].completeness, Completeness::complete);
}

}  // namespace
}  // namespace rashpa::link::roce
