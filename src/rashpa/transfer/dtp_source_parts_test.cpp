// SPDX-License-Identifier: Apache-2.0
/// A source that sends an event for each part of an image.
#include <gtest/gtest.h>

#include "rashpa/core/frame/part_record.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/transfer/dtp_source.hpp"
#include "rashpa/transfer/testing/dtp_source_testing.hpp"

namespace rashpa::transfer {
namespace {

TEST(DtpSource, each_part_of_an_image_is_followed_by_an_event_of_its_own) {
  for (const bool known : {false, true}) {
    Frames frames(known);
    CopySender sender(8192);
    DtpSourceConfig config = source_config(5);
    config.dtp.placement.event_lines = 3;  // 3, 3 and 2 lines
    DtpSource source(config, frames, sender);
    source.run(std::stop_token{}, now_ns(), 0);
    ASSERT_EQ(sender.records.size(), 15U);
    const Placement& place = config.dtp.placement;
    for (std::uint64_t k = 0; k < 5; ++k) {
      const std::byte* const pixels = frames.frame(2 * k + 1);
      for (std::uint32_t part = 0; part < 3; ++part) {
        const FrameRecord& record = sender.records[3 * k + part];
        const std::uint32_t first = 3 * part;
        const std::uint32_t end = part == 2 ? kHeight : first + 3;
        const std::uint32_t own =
            crc32c({pixels + std::size_t{first} * kWidth * 2, (std::size_t{end} - first) * kWidth * 2});
        EXPECT_EQ(record.index, k);
        EXPECT_EQ(record.lines, end);
        EXPECT_EQ(record.payload_bytes, std::uint64_t{end} * kWidth * 2);
        EXPECT_EQ((record.flags & kPartFlag) != 0, part < 2);
        EXPECT_EQ((record.flags & FrameRecord::last_of_run) != 0, k == 4);
        EXPECT_EQ(record.payload_crc32c, part < 2 ? own : crc32c({pixels, kWidth * kHeight * 2}));
        EXPECT_EQ(record.user[0], part < 2 ? 0U : own);
        EXPECT_EQ(sender.immediates[3 * k + part], immediate_of(3, 3 * k + part));
        const std::uint64_t at = part == 2 ? place.record_offset(k) : place.part_offset(k, part);
        EXPECT_EQ(sender.destinations[3 * k + part], at);
      }
    }
    EXPECT_EQ(source.stats().part_events, 10U);
    EXPECT_EQ(source.stats().images_sent, 5U);
  }
}

}  // namespace
}  // namespace rashpa::transfer
