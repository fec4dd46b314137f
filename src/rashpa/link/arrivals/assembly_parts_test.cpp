// SPDX-License-Identifier: Apache-2.0
/// Images whose parts have events of their own, as links with packets see them.
#include <gtest/gtest.h>

#include "rashpa/core/frame/part_record.hpp"
#include "rashpa/link/arrivals/assembly_testing.hpp"

namespace rashpa::link::assembled {
namespace {

constexpr std::uint64_t kParts = 2;  // of 2 lines

ReceiverDtp parted() {
  ReceiverDtp dtp = testing::small_dtp(3, 1ULL << 40, kLines, kBytes, kSlots);
  dtp.placement.event_lines = 2;
  return dtp;
}

class Parts : public ::testing::Test {
 protected:
  void part(std::uint64_t index, std::uint32_t lines = 2, std::uint32_t flags = kPartFlag) {
    FrameRecord record = of(index);
    record.flags = flags;
    record.lines = lines;
    record.payload_bytes = std::uint64_t{lines} * kBytes;
    put(record, p_.part_offset(index, 0), immediate_of(3, p_.event_of(index, 0)));
  }
  void last(std::uint64_t index) {
    FrameRecord record = of(index);
    record.lines = kLines;
    record.payload_bytes = p_.payload_bytes();
    for (std::uint32_t l = 0; l < kLines; ++l) {
      record.payload_crc32c = crc32c(bench_.line, record.payload_crc32c);
    }
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    bench_.assembly.put_event(p_.record_offset(index), bytes, immediate_of(3, p_.event_of(index)), bench_.now);
    bench_.decide();
  }
  [[nodiscard]] FrameRecord of(std::uint64_t index) const {
    FrameRecord record;
    record.dtp = 3;
    record.frame_number = bench_.dtp.slice.frame(index);
    record.index = index;
    record.slot = index % kSlots;
    record.run = bench_.dtp.run;
    return record;
  }
  void put(const FrameRecord& record, std::uint64_t offset, std::uint32_t immediate) {
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    EXPECT_EQ(bench_.assembly.locate(offset, bytes.size()).kind, Target::Kind::part);
    bench_.assembly.put_part(offset, bytes, immediate, bench_.now);
    bench_.decide();
  }
  [[nodiscard]] std::uint64_t at() const {  // image · 100 + lines
    const PartProgress progress = bench_.assembly.progress();
    return progress.index * 100 + progress.lines;
  }

  Bench bench_{parted()};
  const Placement& p_ = bench_.dtp.placement;
};

TEST_F(Parts, are_there_behind_their_events_and_lines) {
  for (std::uint64_t k = 0; k < 3 * kSlots; ++k) {
    bench_.put(k, 0);
    bench_.put(k, 1);
    EXPECT_NE(at(), k * 100 + 2) << "its event has not come";
    part(k);
    EXPECT_EQ(at(), k * 100 + 2);
    bench_.put(k, 2);
    bench_.put(k, 3);
    last(k);
    EXPECT_EQ(bench_.out.of(Completeness::complete), k + 1);
    EXPECT_EQ(bench_.out.last.proof, Proof::crc);
  }
  EXPECT_EQ(bench_.counters.part_events.get(), 3 * kSlots);
  EXPECT_EQ(bench_.counters.events.get(), 3 * kSlots);
  EXPECT_EQ(bench_.counters.lost_parts.get(), 0U);
  EXPECT_EQ(bench_.counters.bad_records.get() + bench_.counters.duplicate_packets.get(), 0U);
}

TEST_F(Parts, with_a_lost_line_are_not_there_and_mark_it_alone) {
  bench_.put(0, 0);
  part(0);
  EXPECT_EQ(at(), 1U) << "line 0 is there, and line 1 is not";
  bench_.put(0, 2);
  bench_.put(0, 3);
  last(0);
  bench_.put_all(1);
  last(1);  // of a later image: nothing of image 0 comes any more
  ASSERT_EQ(bench_.out.of(Completeness::partial), 1U);
  EXPECT_EQ(bench_.out.of(Completeness::complete), 1U);
  EXPECT_EQ(bench_.counters.lost_parts.get(), 1U) << "of image 1, whose event is not needed";
}

TEST_F(Parts, whose_event_is_lost_are_complete_all_the_same_and_counted) {
  bench_.put_all(0);
  last(0);
  EXPECT_EQ(bench_.out.of(Completeness::complete), 1U);
  EXPECT_EQ(bench_.counters.lost_parts.get(), 1U);
  EXPECT_EQ(at(), 0U);
}

TEST_F(Parts, that_come_twice_or_late_are_counted_and_change_nothing) {
  bench_.put(0, 0);
  bench_.put(0, 1);
  part(0);
  part(0);
  EXPECT_EQ(bench_.counters.part_events.get(), 1U);
  EXPECT_EQ(bench_.counters.duplicate_packets.get(), 1U);
  bench_.put(0, 2);
  bench_.put(0, 3);
  last(0);
  part(0);
  EXPECT_EQ(bench_.counters.duplicate_packets.get(), 2U);
  EXPECT_EQ(bench_.out.of(Completeness::complete), 1U);
}

TEST_F(Parts, with_records_of_other_places_are_refused) {
  part(0, 1);                     // no end of a part
  part(0, kLines);                // the whole image
  part(0, 2, FrameRecord::dark);  // not called a part
  FrameRecord other = of(1);      // of another image
  other.flags = kPartFlag;
  other.lines = 2;
  other.payload_bytes = std::uint64_t{2} * kBytes;
  put(other, p_.part_offset(0, 0), immediate_of(3, p_.event_of(0, 0)));
  EXPECT_EQ(bench_.counters.bad_records.get(), 4U);
  EXPECT_EQ(bench_.counters.part_events.get(), 0U);
  const std::uint64_t end = p_.records_offset + p_.records_bytes();
  EXPECT_EQ(bench_.assembly.locate(end, FrameRecord::kBytes).kind, Target::Kind::refused);
  EXPECT_EQ(bench_.assembly.locate(p_.skip_offset(), FrameRecord::kBytes).kind, Target::Kind::skip);
}

TEST_F(Parts, are_accounted_for_in_the_bytes_that_a_source_has_sent) {
  const std::uint64_t image = p_.payload_bytes() + kParts * FrameRecord::kBytes;
  EXPECT_EQ(bench_.assembly.sent_up_to(9), 10 * image);
}

}  // namespace
}  // namespace rashpa::link::assembled
