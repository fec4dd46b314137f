// SPDX-License-Identifier: Apache-2.0
/// Checksums of lines, and the records that name them.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/arrivals/assembly_testing.hpp"

namespace rashpa::link {
namespace {

using namespace assembled;  // NOLINT: of this test

TEST(Assembly, lines_that_come_twice_count_as_duplicates_and_the_checksum_is_that_of_memory) {
  for (const bool other : {false, true}) {
    Bench bench;
    bench.put(0, 0);
    bench.put(0, 1);
    if (other) bench.line.assign(kBytes, std::byte{9});
    bench.put(0, 0);  // again, perhaps with other bytes
    bench.line.assign(kBytes, std::byte{7});
    for (const std::uint32_t l : {2U, 3U}) bench.put(0, l);
    EXPECT_EQ(bench.counters.duplicate_packets.get(), 1U);
    EXPECT_EQ(bench.counters.payload_bytes.get(), 5U * kBytes);
    FrameRecord record;
    record.dtp = bench.dtp.id;
    record.frame_number = bench.dtp.slice.frame(0);
    record.lines = kLines;
    record.payload_bytes = bench.dtp.placement.payload_bytes();
    record.payload_crc32c = crc32c(std::vector<std::byte>(kLines * kBytes, std::byte{7}));
    record.run = bench.dtp.run;
    const std::uint64_t offset = bench.dtp.placement.record_offset(0);
    EXPECT_TRUE(bench.assembly.put_event(offset, record, immediate_of(bench.dtp.id, 0), bench.now));
    EXPECT_FALSE(bench.assembly.put_event(offset, record, immediate_of(bench.dtp.id, 0), bench.now));
    EXPECT_EQ(bench.counters.duplicate_packets.get(), 2U) << "an event, too";
    bench.decide();
    EXPECT_EQ(bench.out.last.completeness, other ? Completeness::partial : Completeness::complete);
    EXPECT_EQ(bench.out.last.loss, other ? Loss::corrupt : Loss::none);
    EXPECT_EQ(bench.counters.crc_mismatches.get(), other ? 1U : 0U);
    EXPECT_FALSE(bench.assembly.put_event(offset, record, immediate_of(bench.dtp.id, 0), bench.now));
    EXPECT_EQ(bench.counters.duplicate_packets.get(), 3U) << "and one of an image that is decided";
  }
}

TEST(Assembly, checksums_of_the_link_are_joined_in_order_and_others_made_from_memory) {
  for (const bool in_order : {true, false}) {
    Bench bench;
    std::uint32_t whole = 0;
    for (std::uint32_t l = 0; l < kLines; ++l) whole = crc32c(bench.line, whole);
    for (const std::uint32_t l : in_order ? std::array{0U, 1U, 2U, 3U} : std::array{1U, 0U, 3U, 2U}) {
      const std::uint64_t offset = l * bench.dtp.placement.pitch;
      bench.assembly.put_lines(0, offset, offset, bench.line, crc32c(bench.line), ++bench.now);
    }
    FrameRecord record;
    record.dtp = bench.dtp.id;
    record.frame_number = bench.dtp.slice.frame(0);
    record.lines = kLines;
    record.payload_bytes = bench.dtp.placement.payload_bytes();
    record.payload_crc32c = whole;
    record.run = bench.dtp.run;
    EXPECT_TRUE(bench.assembly.put_event(bench.dtp.placement.record_offset(0), record, immediate_of(bench.dtp.id, 0),
                                         bench.now));
    bench.decide();
    EXPECT_EQ(bench.out.last.proof, Proof::crc) << in_order;
  }
}

TEST(Assembly, lines_before_others_have_a_checksum_from_memory) {
  Bench bench(testing::small_dtp(3, 100, kLines, kBytes, kSlots, 16), MapUnit(kBytes, kBytes / 4));
  std::vector<std::vector<std::byte>> lines(kLines, std::vector<std::byte>(kBytes));
  std::uint32_t whole = 0;
  for (std::uint32_t l = 0; l < kLines; ++l) {
    for (std::uint32_t i = 0; i < kBytes; ++i) lines[l][i] = static_cast<std::byte>(l * 7 + i);
    whole = crc32c(lines[l], whole);
  }
  bench.line = lines[0];
  bench.put(0, 0, 0, kBytes / 2);  // the checksum covers half of the first line
  for (const std::uint32_t l : {2U, 1U, 3U}) {
    bench.line = lines[l];
    bench.put(0, l);
  }
  bench.line.assign(lines[0].begin() + kBytes / 4 * 3, lines[0].end());
  bench.put(0, 0, kBytes / 4 * 3, kBytes / 4);  // and goes on from the middle of it
  bench.line.assign(lines[0].begin() + kBytes / 2, lines[0].begin() + kBytes / 4 * 3);
  bench.put(0, 0, kBytes / 2, kBytes / 4);
  FrameRecord record;
  record.dtp = bench.dtp.id;
  record.frame_number = bench.dtp.slice.frame(0);
  record.lines = kLines;
  record.payload_bytes = bench.dtp.placement.payload_bytes();
  record.payload_crc32c = whole;
  record.run = bench.dtp.run;
  EXPECT_TRUE(
      bench.assembly.put_event(bench.dtp.placement.record_offset(0), record, immediate_of(bench.dtp.id, 0), bench.now));
  bench.decide();
  EXPECT_EQ(bench.out.last.proof, Proof::crc);
}

TEST(Assembly, a_record_that_is_not_its_own_is_a_bad_record) {
  const auto takes = [](auto change) {
    Bench bench;
    FrameRecord record;
    record.dtp = bench.dtp.id;
    record.index = 2;
    record.slot = 2;
    record.frame_number = bench.dtp.slice.frame(2);
    record.lines = kLines;
    record.payload_bytes = bench.dtp.placement.payload_bytes();
    record.run = bench.dtp.run;
    std::uint64_t offset = bench.dtp.placement.record_offset(2);
    std::uint32_t immediate = immediate_of(bench.dtp.id, 2);
    change(record, offset, immediate);
    const bool taken = bench.assembly.put_event(offset, record, immediate, bench.now);
    EXPECT_EQ(bench.counters.bad_records.get(), taken ? 0U : 1U);
    EXPECT_EQ(bench.counters.events.get(), taken ? 1U : 0U);
    EXPECT_EQ(bench.counters.payload_bytes.get(), taken ? FrameRecord::kBytes : 0U);
    return taken;
  };
  EXPECT_TRUE(takes([](FrameRecord&, std::uint64_t&, std::uint32_t&) {}));
  EXPECT_FALSE(takes([](FrameRecord& record, std::uint64_t&, std::uint32_t&) { record.dtp += 256; }));
  EXPECT_FALSE(takes([](FrameRecord& record, std::uint64_t&, std::uint32_t&) { ++record.run; }));
  EXPECT_FALSE(takes([](FrameRecord& record, std::uint64_t&, std::uint32_t&) { ++record.slot; }));
  EXPECT_FALSE(takes([](FrameRecord& record, std::uint64_t&, std::uint32_t&) { ++record.frame_number; }));
  EXPECT_FALSE(takes([](FrameRecord& record, std::uint64_t&, std::uint32_t&) { ++record.lines; }));
  EXPECT_FALSE(takes([](FrameRecord& record, std::uint64_t&, std::uint32_t&) { ++record.payload_bytes; }));
  EXPECT_FALSE(takes([](FrameRecord&, std::uint64_t& offset, std::uint32_t&) { offset += FrameRecord::kBytes; }));
  EXPECT_FALSE(takes([](FrameRecord&, std::uint64_t&, std::uint32_t& immediate) { ++immediate; }));
}

}  // namespace
}  // namespace rashpa::link
