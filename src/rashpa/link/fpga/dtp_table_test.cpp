// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/fpga/dtp_table.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::link::fpga {
namespace {

CardDtp dtp(std::uint32_t width, std::uint32_t lines, std::uint64_t pitch) {
  CardDtp dtp{.id = 7, .region = {3, 2, width, lines}, .slice = {4, 1}, .images = 9};
  dtp.placement = {.slots = 3, .pitch = pitch, .line_bytes = 2 * width, .lines = lines};
  return dtp;
}

FrameRing ring(std::uint64_t pitch) { return {.address = 4096, .stride = 65536, .frames = 6, .pitch_bytes = pitch}; }

TEST(DtpTable, a_line_that_is_too_long_is_cut_into_messages) {
  card::registers::DtpTable table;
  set_transfer(table, dtp(1000, 5, 9000), ring(2100), {.pmtu = 256, .largest_message = 768});
  EXPECT_EQ(table.outer_count, 5U);
  EXPECT_EQ(table.inner_count, 3U);
  EXPECT_EQ(table.piece_bytes, 768U);
  EXPECT_EQ(table.rest_bytes, 464U);
  EXPECT_EQ(table.last_bytes, 464U);
  EXPECT_EQ(table.outer_source_step, 2100U);
  EXPECT_EQ(table.outer_destination_step, 9000U);
  EXPECT_EQ(table.source, 4096U + 128 + 2 * 2100 + 3 * 2);
}

TEST(DtpTable, contiguous_lines_are_merged_and_the_last_run_is_shorter) {
  card::registers::DtpTable table;
  set_transfer(table, dtp(100, 7, 200), ring(200), {.pmtu = 256, .largest_message = 768});
  EXPECT_EQ(table.lines_per_run, 3U);
  EXPECT_EQ(table.outer_count, 3U);
  EXPECT_EQ(table.rest_bytes, 600U);
  EXPECT_EQ(table.last_bytes, 200U);
}

TEST(DtpTable, factors_join_the_sums_of_packets) {
  card::registers::DtpTable table;
  set_transfer(table, dtp(300, 1, 600), ring(600), {.pmtu = 256, .largest_message = 1024});
  std::vector<std::byte> bytes(600, std::byte{0x5A});
  const std::span<const std::byte> all(bytes);
  // 256 + 256 + 88
  const auto join = [](std::uint32_t a, std::uint32_t factor, std::uint32_t b) {
    std::uint32_t product = 0;
    for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
      if ((factor & bit) != 0) product ^= a;
      a = a >> 1U ^ ((a & 1U) != 0 ? 0x82F63B78U : 0U);
    }
    return product ^ b;
  };
  const std::uint32_t two = join(crc32c(all.first(256)), table.factor_mtu, crc32c(all.subspan(256, 256)));
  EXPECT_EQ(join(two, table.factor_last, crc32c(all.subspan(512))), crc32c(all));
}

TEST(DtpTable, slices_begin_at_their_frame_and_wrap_in_the_ring) {
  card::registers::DtpTable table;
  set_transfer(table, dtp(10, 1, 20), ring(20), {});
  EXPECT_EQ(table.frame_offset, 65536U);
  EXPECT_EQ(table.frame_step, 4U * 65536);
  EXPECT_EQ(table.frame_ring, 6U * 65536);
}

TEST(DtpTable, what_was_sent_last_is_said_by_line_and_image) {
  card::registers::DtpTable table;
  table.mtu_path_mtu = 1024;
  table.lines = 10;
  table.lines_per_run = 1;
  table.outer_count = 10;
  table.inner_count = 2;
  table.piece_bytes = 2048;
  table.rest_bytes = table.last_bytes = 100;  // three packets a line
  EXPECT_EQ(last_sent(table, 0, 0), "nothing");
  EXPECT_EQ(last_sent(table, 0, 1), "line 0 of image 0");
  EXPECT_EQ(last_sent(table, 0, 3), "line 0 of image 0");
  EXPECT_EQ(last_sent(table, 0, 4), "line 1 of image 0");
  EXPECT_EQ(last_sent(table, 0, 30), "line 9 of image 0");
  EXPECT_EQ(last_sent(table, 1, 31), "the event of image 0");
  EXPECT_EQ(last_sent(table, 4, 4 * 31 + 5), "line 1 of image 4");
  // four lines a run, of the last one two
  table.lines_per_run = 4;
  table.outer_count = 3;
  table.inner_count = 1;
  table.piece_bytes = table.rest_bytes = 4000;
  table.last_bytes = 2000;
  EXPECT_EQ(last_sent(table, 2, 2 * 11 + 1), "line 3 of image 2");
  EXPECT_EQ(last_sent(table, 2, 2 * 11 + 5), "line 7 of image 2");
  EXPECT_EQ(last_sent(table, 2, 2 * 11 + 10), "line 9 of image 2");
}

TEST(DtpTable, what_does_not_fit_is_refused) {
  card::registers::DtpTable table;
  auto wrong = dtp(10, 2, 20);
  wrong.placement.lines = 3;
  EXPECT_THROW(set_transfer(table, wrong, ring(20), {}), ConfigError);
  auto unaligned = ring(20);
  unaligned.address = 100;
  EXPECT_THROW(set_transfer(table, dtp(10, 2, 20), unaligned, {}), ConfigError);
  EXPECT_THROW(set_transfer(table, dtp(10, 2, 20), ring(std::uint64_t{1} << 32U), {}), ConfigError);
}

TEST(RecordTemplate, is_a_record_of_what_the_source_knows) {
  std::array<std::byte, FrameRecord::kBytes> bytes{};
  record_template(bytes, 17, 99, FrameRecord::dark | FrameRecord::last_of_run);
  const auto record = decode_frame_record(bytes);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->frame_number, 17U);
  EXPECT_EQ(record->flags, FrameRecord::dark);
  EXPECT_EQ(record->dtp, 0U);
}

}  // namespace
}  // namespace rashpa::link::fpga
