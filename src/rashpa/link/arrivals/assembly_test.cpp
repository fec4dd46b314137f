// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/arrivals/assembly.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/arrivals/assembly_testing.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link {
namespace {

using namespace assembled;  // NOLINT: of this test

TEST(Assembly, images_behind_an_outage_of_any_number_of_packets_are_complete) {
  constexpr std::uint64_t kRound = 1U << 24;
  for (const std::uint64_t outage : {std::uint64_t{1'000}, kRound / 2 - 1'000, kRound / 2 + 1'000, kRound / 4 * 3,
                                     kRound - 100'000, kRound + 1'000, 3 * kRound / 2 + 1'000}) {
    Bench bench;
    std::uint64_t index = 0;
    for (; index < 100; ++index) bench.send(index);
    EXPECT_EQ(bench.out.of(Completeness::complete), 100U);
    const std::uint64_t lost = outage / (kLines + 1);
    index += lost;
    bench.packet += lost * (kLines + 1);
    // The first ring behind it shares slots with images of which nothing came.
    for (std::uint64_t n = 0; n < 2 * kSlots; ++n) bench.send(index++);
    const std::uint64_t before = bench.out.of(Completeness::complete);
    for (std::uint64_t n = 0; n < 100; ++n) bench.send(index++);
    EXPECT_EQ(bench.out.of(Completeness::complete), before + 100) << outage;
  }
}

TEST(Assembly, dealt_images_may_come_any_number_of_times_and_are_of_the_slice) {
  Bench bench(dealt_dtp());
  for (std::uint64_t index = 0; index < 100; ++index) bench.send(index, bench.dtp.slice.frame(index % 4));
  EXPECT_EQ(bench.out.of(Completeness::complete), 100U);
  EXPECT_EQ(bench.counters.bad_records.get(), 0U);
  bench.send(100, bench.dtp.slice.frame(4));
  EXPECT_EQ(bench.out.of(Completeness::complete), 100U) << "the slice has no such frame";
  EXPECT_EQ(bench.counters.bad_records.get(), 1U);
}

// All of a ring may be lost: its source says then how many images it has sent.
TEST(Assembly, dealt_images_of_which_nothing_came_are_missing_once_their_source_says_so) {
  Bench bench(dealt_dtp());
  bench.send(0, bench.dtp.slice.frame(3));
  FrameRecord record;
  record.dtp = bench.dtp.id;
  record.flags = FrameRecord::skipped;
  record.index = 2;
  record.frame_number = bench.dtp.slice.frame(1);
  record.run = bench.dtp.run;
  EXPECT_TRUE(bench.assembly.put_skip(record, immediate_of(bench.dtp.id, 2), bench.now));
  for (int turn = 0; turn < 4; ++turn) {
    bench.now += 1'000'000'000;  // nothing can be on its way any more
    bench.assembly.decide(0, bench.assembly.undecided(), bench.now, bench.out);
  }
  EXPECT_EQ(bench.out.of(Completeness::complete), 1U);
  EXPECT_EQ(bench.out.of(Completeness::missing), 2U);
  EXPECT_EQ(bench.counters.bad_records.get(), 0U);
}

TEST(Assembly, images_that_are_not_dealt_are_as_many_as_expected) {
  ReceiverDtp few = dealt_dtp();
  few.dealt = false;
  Bench bench(few);
  for (std::uint64_t index = 0; index < 6; ++index) bench.send(index);
  EXPECT_EQ(bench.out.of(Completeness::complete), 4U);
  EXPECT_TRUE(bench.assembly.finished());
}

TEST(Assembly, an_image_has_the_time_of_its_event_and_an_event_is_a_packet_too) {
  Bench bench;
  bench.send(0);
  EXPECT_EQ(bench.out.last.last_packet_ns, bench.now);
  bench.assembly.number(100);  // behind all packets of image 0
  bench.put_all(2);
  bench.assembly.put_bare_event(2, bench.now);
  for (int event = 0; event < 8; ++event) {
    bench.decide();
    EXPECT_EQ(bench.assembly.undecided(), 1U) << event;
    bench.assembly.put_event(0, std::optional<FrameRecord>(), 0, bench.now);
  }
  bench.decide();
  EXPECT_EQ(bench.assembly.undecided(), 3U);
}

TEST(Assembly, an_image_that_nobody_takes_is_decided_later) {
  Bench bench;
  bench.out.takes = false;
  bench.send(0);
  EXPECT_TRUE(bench.assembly.held_up());
  EXPECT_EQ(bench.assembly.undecided(), 0U);
  bench.out.takes = true;
  bench.decide();
  EXPECT_FALSE(bench.assembly.held_up());
  EXPECT_EQ(bench.out.of(Completeness::complete), 1U);
  bench.out.takes = false;
  EXPECT_TRUE(bench.skip(1, 1, 1));
  bench.decide(1'000'000'000);
  EXPECT_TRUE(bench.assembly.held_up()) << "one of which nothing came, too";
  EXPECT_EQ(bench.assembly.undecided(), 1U);
  bench.out.takes = true;
  bench.decide();
  EXPECT_FALSE(bench.assembly.held_up());
  EXPECT_EQ(bench.out.of(Completeness::missing), 1U);
  EXPECT_EQ(bench.counters.overrun_packets.get(), 0U);
}

TEST(Assembly, images_that_were_left_out_are_no_bytes_that_were_sent) {
  Bench bench;
  constexpr std::uint64_t kRecord = FrameRecord::kBytes;
  constexpr std::uint64_t kImage = kLines * kBytes + kRecord;
  EXPECT_EQ(bench.assembly.sent_up_to(0), kImage);
  EXPECT_TRUE(bench.skip(5, 3, 2));
  EXPECT_EQ(bench.assembly.sent_up_to(7), 5 * kImage + 2 * kRecord);
  EXPECT_EQ(bench.assembly.sent_up_to(1), 2 * kRecord) << "no fewer than none";
  EXPECT_TRUE(bench.skip(6, 2, 1));
  EXPECT_EQ(bench.assembly.sent_up_to(7), 5 * kImage + 2 * kRecord) << "an older record says nothing new";
  EXPECT_FALSE(bench.skip(6, 8, 3)) << "there are seven images up to it";
  EXPECT_EQ(bench.counters.bad_records.get(), 1U);
  EXPECT_EQ(bench.counters.skip_events.get(), 2U);
}

TEST(Assembly, packets_of_part_of_a_line_make_the_maps_of_all_open_images_finer) {
  Bench bench(testing::small_dtp(3, 100, kLines, kBytes, kSlots), MapUnit(kBytes, kBytes / 4));
  for (const std::uint64_t index : {0U, 1U}) bench.put(index, 0);
  for (const std::uint64_t index : {0U, 1U}) {
    bench.put(index, 1, 0, kBytes / 2);
    bench.put(index, 1, kBytes / 2, kBytes / 4);
    for (const std::uint32_t l : {2U, 3U}) bench.put(index, l);
    bench.assembly.put_bare_event(index, bench.now);
  }
  bench.decide();
  EXPECT_EQ(bench.out.of(Completeness::partial), 1U);
  EXPECT_EQ(bench.out.last.lines_missing, 1U);
  ASSERT_NE(bench.out.last.map, nullptr);
  bench.put(1, 1, kBytes / 4 * 3, kBytes / 4);
  bench.decide();
  EXPECT_EQ(bench.out.of(Completeness::complete), 1U) << "its last quarter came in time";
  EXPECT_EQ(bench.out.last.index, 1U);
}

TEST(Assembly, an_event_without_a_record_counts_once_and_the_map_proves_its_lines) {
  Bench bench;
  bench.put_all(0);
  bench.assembly.put_bare_event(0, bench.now);
  bench.assembly.put_bare_event(0, bench.now);
  EXPECT_EQ(bench.counters.events.get(), 1U);
  EXPECT_EQ(bench.counters.duplicate_packets.get(), 1U);
  bench.assembly.describe(0, {1, 2}, FrameRecord::laser);
  bench.assembly.describe(0, {3, 4}, FrameRecord::dark);
  bench.decide();
  const Arrival& arrival = bench.out.last;
  EXPECT_EQ(arrival.completeness, Completeness::complete);
  EXPECT_EQ(arrival.proof, Proof::lines);
  EXPECT_EQ(arrival.lines_missing, 0U);
  EXPECT_EQ(arrival.record.frame_number, bench.dtp.slice.frame(0));
  EXPECT_EQ(arrival.record.run, bench.dtp.run);
  EXPECT_EQ(arrival.record.dtp, bench.dtp.id);
  EXPECT_EQ(arrival.record.index, 0U);
  EXPECT_EQ(arrival.record.slot, 0U);
  EXPECT_EQ(arrival.record.lines, kLines);
  EXPECT_EQ(arrival.record.payload_bytes, kLines * kBytes);
  EXPECT_EQ(arrival.record.user[0], 1U) << "the first words count";
  EXPECT_EQ(arrival.record.flags, static_cast<std::uint32_t>(FrameRecord::laser)) << "and the first flags";
  bench.assembly.put_bare_event(0, bench.now);
  EXPECT_EQ(bench.counters.late_packets.get(), 1U) << "it is decided";
}

TEST(Assembly, where_no_event_need_come_none_is_counted) {
  Bench bench(testing::small_dtp(3, 100, kLines, kBytes, kSlots), kBytes, Sight::lines);
  bench.put_all(0);
  for (int turn = 0; turn < 2; ++turn) bench.assembly.put_bare_event(0, bench.now);
  bench.decide();
  bench.assembly.put_bare_event(0, bench.now);
  EXPECT_EQ(bench.out.of(Completeness::complete), 1U);
  EXPECT_EQ(bench.counters.events.get(), 0U);
  EXPECT_EQ(bench.counters.duplicate_packets.get() + bench.counters.late_packets.get(), 0U);
}

TEST(Assembly, a_lost_event_is_waited_for_five_milliseconds_or_eight_packets_behind_a_later_one) {
  for (const bool by_time : {true, false}) {
    Bench bench;
    bench.put_all(1);
    bench.assembly.put_bare_event(1, bench.now);
    bench.decide(by_time ? 5'000'000 : 0);
    EXPECT_EQ(bench.assembly.undecided(), 0U);
    if (by_time) {
      bench.decide(1);
    } else {
      for (std::uint32_t packet = 0; packet < 7; ++packet) bench.put(2 + packet / 4, packet % 4);
      bench.decide();
      EXPECT_EQ(bench.assembly.undecided(), 0U);
      bench.put(3, 3);
      bench.decide();
    }
    EXPECT_EQ(bench.out.of(Completeness::missing), 1U) << by_time;
    EXPECT_EQ(bench.assembly.undecided(), 2U) << by_time;
  }
}

constexpr std::uint64_t kPixels = std::uint64_t{kSlots} * kLines * kBytes;
constexpr std::uint64_t kEnd = kPixels + (kSlots + 1) * FrameRecord::kBytes;

TEST(Assembly, takes_no_placement_that_does_not_fit_its_memory) {
  const auto fits = [](auto change, std::uint64_t lines = kPixels, std::uint64_t records = kEnd) {
    ReceiverDtp dtp = testing::small_dtp(3, 100, kLines, kBytes, kSlots);
    change(dtp);
    try {
      check(dtp, lines, records);
      return true;
    } catch (const ConfigError&) {
      return false;
    }
  };
  const auto as_it_is = [](ReceiverDtp&) {};
  EXPECT_TRUE(fits(as_it_is));
  EXPECT_FALSE(fits(as_it_is, kPixels - 1));
  EXPECT_FALSE(fits(as_it_is, kPixels, kEnd - 1)) << "the record of skipped images, too";
  EXPECT_TRUE(fits([](ReceiverDtp& dtp) { dtp.id = 0xFFFF; }));
  EXPECT_FALSE(fits([](ReceiverDtp& dtp) { dtp.id = 0x10000; }));
  EXPECT_FALSE(fits([](ReceiverDtp& dtp) { dtp.placement.slots = 0; }));
  EXPECT_FALSE(fits([](ReceiverDtp& dtp) { dtp.placement.lines = 0; }));
  EXPECT_FALSE(fits([](ReceiverDtp& dtp) { dtp.placement.line_bytes = 0; }));
  EXPECT_FALSE(fits([](ReceiverDtp& dtp) { dtp.placement.pitch = kBytes - 1; }));
  EXPECT_FALSE(fits([](ReceiverDtp& dtp) {
    dtp.placement.lines = 2;
    dtp.placement.pitch = kBytes - 1;
  }));
  EXPECT_FALSE(fits([](ReceiverDtp& dtp) { dtp.placement.slot_bytes -= 1; }));
  EXPECT_FALSE(fits([](ReceiverDtp& dtp) { dtp.placement.first_line_offset = 1; }));
  EXPECT_TRUE(fits([](ReceiverDtp& dtp) {
    dtp.placement.lines = 1;
    dtp.placement.pitch = 0;
  })) << "one line has no pitch";
}

TEST(Assembly, its_unit_divides_a_line_and_the_finest_one_divides_the_unit) {
  const ReceiverDtp dtp = testing::small_dtp(3, 100, kLines, kBytes, kSlots);
  EXPECT_NO_THROW(Bench(dtp, MapUnit(kBytes, kBytes / 4)));
  EXPECT_NO_THROW(Bench(dtp, MapUnit(1)));
  EXPECT_THROW(Bench(dtp, MapUnit(0)), ConfigError);
  EXPECT_THROW(Bench(dtp, MapUnit(kBytes, 0)), ConfigError);
  EXPECT_THROW(Bench(dtp, MapUnit(kBytes, kBytes / 4 * 3)), ConfigError);
  EXPECT_THROW(Bench(dtp, MapUnit(kBytes / 4 * 3)), ConfigError);
}

/// Describes a target: its kind, its image, and its place in it.
using Found = std::tuple<Target::Kind, std::uint64_t, std::uint64_t>;

Found found(const Assembly& assembly, std::uint64_t offset, std::uint64_t bytes) {
  const Target target = assembly.locate(offset, bytes);
  return target.kind == Target::Kind::refused ? Found{} : Found{target.kind, target.index, target.linear};
}

TEST(Assembly, bytes_are_lines_of_one_image_or_one_record_or_nothing) {
  using enum Target::Kind;
  constexpr std::uint64_t kImage = std::uint64_t{kLines} * kBytes;
  constexpr std::uint64_t kRecords = kSlots * kImage;
  const Bench bench;
  const Assembly& whole = bench.assembly;
  EXPECT_EQ(found(whole, 0, kImage), Found(lines, 0, 0));
  EXPECT_EQ(found(whole, 0, kImage + 1), Found());
  EXPECT_EQ(found(whole, kImage - 1, 1), Found(lines, 0, kImage - 1));
  EXPECT_EQ(found(whole, kImage - 1, 2), Found());
  EXPECT_EQ(found(whole, kImage, 1), Found(lines, 1, 0));
  EXPECT_EQ(found(whole, kRecords - 1, 1), Found(lines, kSlots - 1, kImage - 1));
  EXPECT_EQ(found(whole, kRecords, FrameRecord::kBytes), Found(record, 0, 0));
  EXPECT_EQ(found(whole, kRecords, FrameRecord::kBytes - 1), Found());
  EXPECT_EQ(found(whole, kRecords + 1, FrameRecord::kBytes), Found());
  EXPECT_EQ(found(whole, kRecords + 7 * FrameRecord::kBytes, FrameRecord::kBytes), Found(record, 7, 0));
  EXPECT_EQ(std::get<0>(found(whole, kRecords + 8 * FrameRecord::kBytes, FrameRecord::kBytes)), skip);
  EXPECT_EQ(found(whole, kRecords + 9 * FrameRecord::kBytes, FrameRecord::kBytes), Found());
}

TEST(Assembly, bytes_between_lines_are_nothing) {
  using enum Target::Kind;
  constexpr std::uint32_t kGap = 16;
  constexpr std::uint64_t kPitch = kBytes + kGap;
  const Bench bench(testing::small_dtp(3, 100, kLines, kBytes, kSlots, kGap));
  const Assembly& apart = bench.assembly;
  EXPECT_EQ(found(apart, kGap - 1, 1), Found());
  EXPECT_EQ(found(apart, kGap, kBytes), Found(lines, 0, 0));
  EXPECT_EQ(found(apart, kGap, kBytes + 1), Found());
  EXPECT_EQ(found(apart, kGap + kBytes - 1, 1), Found(lines, 0, kBytes - 1));
  EXPECT_EQ(found(apart, kGap + kBytes, 1), Found());
  EXPECT_EQ(found(apart, kGap + 3 * kPitch + 5, 2), Found(lines, 0, 3 * kBytes + 5));
  EXPECT_EQ(found(apart, kGap + 4 * kPitch, 1), Found()) << "there is no fifth line";
  EXPECT_EQ(found(apart, bench.dtp.placement.slot_bytes + kGap, 1), Found(lines, 1, 0));
}

TEST(Assembly, a_slot_stands_for_its_next_image) {
  using enum Target::Kind;
  constexpr std::uint64_t kImage = std::uint64_t{kLines} * kBytes;
  Bench bench;
  for (std::uint64_t index = 0; index < 3; ++index) bench.send(index);
  EXPECT_EQ(found(bench.assembly, 3 * kImage, 1), Found(lines, 3, 0));
  EXPECT_EQ(found(bench.assembly, 2 * kImage, 1), Found(lines, kSlots + 2, 0));
}

// A source that waits for slots has none for these images: its receiver takes no part of them.
TEST(Assembly, events_of_images_without_a_free_slot_are_late_where_the_source_waits_for_slots) {
  for (const NotFree not_free : {NotFree::late, NotFree::overrun}) {
    const bool late = not_free == NotFree::late;
    Bench bench(testing::small_dtp(3, 100, kLines, kBytes, kSlots), kBytes, Sight::packets, not_free);
    FrameRecord record;
    record.dtp = bench.dtp.id;
    record.index = kSlots;
    record.frame_number = bench.dtp.slice.frame(kSlots);
    record.lines = kLines;
    record.payload_bytes = bench.dtp.placement.payload_bytes();
    record.run = bench.dtp.run;
    const std::uint64_t offset = bench.dtp.placement.record_offset(kSlots);
    EXPECT_FALSE(bench.assembly.put_event(offset, record, immediate_of(bench.dtp.id, kSlots), bench.now));
    bench.assembly.put_bare_event(kSlots + 1, bench.now);
    bench.decide();
    EXPECT_EQ(bench.counters.late_packets.get(), late ? 2U : 0U);
    EXPECT_EQ(bench.counters.overrun_packets.get(), late ? 0U : 2U);
    EXPECT_EQ(bench.out.of(Completeness::missing), late ? 0U : kSlots + 2U) << "those before can come no more";
  }
}

TEST(Assembly, an_image_that_its_link_has_unpacked_is_proven_by_that) {
  Bench bench(testing::small_dtp(3, 100, kLines, kBytes, kSlots), kBytes, Sight::images);
  FrameRecord record;
  record.dtp = bench.dtp.id;
  record.frame_number = bench.dtp.slice.frame(0);
  record.lines = kLines;
  record.payload_bytes = bench.dtp.placement.payload_bytes();
  record.payload_crc32c = 1;  // nobody makes it
  record.run = bench.dtp.run;
  const std::uint32_t immediate = immediate_of(bench.dtp.id, 0);
  EXPECT_TRUE(bench.assembly.put_event(bench.dtp.placement.record_offset(0), record, immediate, bench.now));
  bench.decide();
  EXPECT_EQ(bench.out.last.completeness, Completeness::complete);
  EXPECT_EQ(bench.out.last.proof, Proof::lines);
  EXPECT_EQ(bench.counters.crc_mismatches.get(), 0U);
}

}  // namespace
}  // namespace rashpa::link
