// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/buffers/memory_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "rashpa/core/error.hpp"

namespace rashpa::receiver {
namespace {

BufferConfig buffer() {
  BufferConfig config;
  config.name = "full";
  config.width = 1030;
  config.height = 20;
  config.slots = 8;
  config.stack = 4;
  config.images = 100;
  config.deadline_ms = 1;
  config.dtps = {{.id = 0, .module = 0, .x = 0, .y = 0, .width = 1024, .height = 8},
                 {.id = 1, .module = 1, .x = 6, .y = 10, .width = 1024, .height = 8}};
  config.sinks.emplace_back([](const Output&) -> std::unique_ptr<sink::Sink> { return nullptr; });
  return config;
}

TEST(MemoryLayout, rings_and_records_lie_one_after_the_other) {
  BufferConfig second = buffer();
  second.dtps[0].id = 2;
  second.dtps[1].id = 3;
  const MemoryLayout layout = lay_out({buffer(), second});
  const std::uint64_t slot = 45056;  // 1030 · 20 · 2 = 41200, rounded up to pages
  ASSERT_EQ(layout.buffers[0].slot_bytes, slot);
  EXPECT_EQ(layout.dtps[1].first_line_offset, 10U * 2060 + 12);
  EXPECT_EQ(layout.dtps[0].records_offset, 8 * slot);
  EXPECT_EQ(layout.dtps[1].records_offset, 8 * slot + 4096);
  EXPECT_EQ(layout.buffers[1].pixels_offset, 8 * slot + 2UL * 4096);
  EXPECT_EQ(layout.bytes, 2 * (8 * slot + 2UL * 4096));
}

TEST(MemoryLayout, images_on_a_device_and_records_count_from_the_beginning_of_their_own_memory) {
  BufferConfig second = buffer();
  second.dtps[0].id = 2;
  second.dtps[1].id = 3;
  const MemoryLayout layout = lay_out({buffer(), second}, unit::ImagesIn::device);
  const std::uint64_t slot = layout.buffers[0].slot_bytes;
  EXPECT_EQ(layout.buffers[1].pixels_offset, 8 * slot);
  EXPECT_EQ(layout.dtps[3].pixels_offset, 8 * slot);
  EXPECT_EQ(layout.device_bytes, 16 * slot);
  EXPECT_EQ(layout.dtps[0].records_offset, 0U);
  EXPECT_EQ(layout.dtps[3].records_offset, 3 * 4096U);
  EXPECT_EQ(layout.bytes, 4 * 4096U);
}

TEST(MemoryLayout, parts_with_events_have_records_behind_those_of_images) {
  BufferConfig parted = buffer();
  parted.events = "lines:3";  // of 8: parts of 3, 3 and 2
  const MemoryLayout layout = lay_out({parted});
  const Placement& p = layout.dtps[0];
  EXPECT_EQ(p.event_lines, 3U);
  EXPECT_EQ(p.parts(), 3U);
  EXPECT_EQ(p.part_end(1), 6U);
  EXPECT_EQ(p.part_end(2), 8U);
  EXPECT_EQ(p.part_offset(0, 0), p.records_offset + 9 * 128);
  EXPECT_EQ(p.part_offset(8 + 7, 1), p.records_offset + (9 + 15) * 128);
  EXPECT_EQ(p.records_bytes(), 25U * 128);
  EXPECT_GE(layout.dtps[1].records_offset, p.records_offset + p.records_bytes());
  for (const char* const whole : {"image", "lines:8", "lines:100"}) {
    parted.events = whole;
    EXPECT_EQ(lay_out({parted}).dtps[0].parts(), 1U) << whole;
    EXPECT_EQ(lay_out({parted}).bytes, lay_out({buffer()}).bytes) << whole;
  }
  for (const char* const wrong :
       {"", "lines", "lines:", "lines:0", "lines:-1", "lines:4x", "rows:4", "lines:9999999999"}) {
    parted.events = wrong;
    EXPECT_THROW(lay_out({parted}), ConfigError) << wrong;
  }
}

TEST(MemoryLayout, last_words_have_a_page_behind_the_lines_where_they_are_awaited) {
  for (const unit::ImagesIn in : {unit::ImagesIn::host, unit::ImagesIn::device}) {
    const MemoryLayout without = lay_out({buffer()}, in);
    EXPECT_FALSE(without.words);
    const MemoryLayout with = lay_out({buffer()}, in, LastWords::behind_lines);
    const bool device = in == unit::ImagesIn::device;
    EXPECT_EQ(with.words, device ? without.device_bytes : without.bytes);
    EXPECT_EQ(with.bytes, without.bytes + (device ? 0 : 4096));
    EXPECT_EQ(with.device_bytes, without.device_bytes + (device ? 4096 : 0));
    EXPECT_EQ(*with.words % 4096, 0U);
  }
}

TEST(MemoryLayout, what_cannot_work_is_refused) {
  const auto refused = [](auto&& spoil) {
    BufferConfig bad = buffer();
    spoil(bad);
    EXPECT_THROW(lay_out({bad}), ConfigError);
  };
  refused([](BufferConfig& b) { b.width = 0; });
  refused([](BufferConfig& b) { b.slots = 6; });
  refused([](BufferConfig& b) { b.slots = 4; });
  refused([](BufferConfig& b) { b.stack = 0; });
  refused([](BufferConfig& b) { b.images = 0; });
  refused([](BufferConfig& b) { b.deadline_ms = 0; });
  refused([](BufferConfig& b) { b.sinks.clear(); });
  refused([](BufferConfig& b) { b.dtps.clear(); });
  refused([](BufferConfig& b) { b.dtps[1].x = 7; });
  refused([](BufferConfig& b) { b.dtps[1].y = 7; });
  refused([](BufferConfig& b) { b.dtps[1].id = 0; });
  refused([](BufferConfig& b) { b.dtps[1].id = 65536; });
  EXPECT_THROW(lay_out({}), ConfigError);
  EXPECT_NO_THROW(lay_out({buffer()}));
}

TEST(MemoryLayout, all_faults_of_all_buffers_are_told_at_once) {
  BufferConfig bad = buffer();
  bad.slots = 6;
  bad.images = 0;
  bad.dtps[1].x = 7;
  BufferConfig other = buffer();
  other.name = "other";
  other.dtps[1].y = 7;
  try {
    lay_out({bad, other});
    ADD_FAILURE() << "not refused";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    for (const char* words :
         {"slots = 6", "holds no image", "DTP 1 at x=7", "DTPs 0 and 1 overlap", "DTP id 0 is used"}) {
      EXPECT_NE(text.find(words), std::string::npos) << words << " is not in: " << text;
    }
  }
}

TEST(MemoryLayout, of_very_many_faults_the_first_are_told_and_the_number_of_the_others) {
  BufferConfig bad = buffer();
  for (std::uint32_t id = 2; id < 60; ++id) bad.dtps.push_back({.id = id, .module = id, .width = 1024, .height = 8});
  try {
    lay_out({bad});
    ADD_FAILURE() << "not refused";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 16) << text;
    EXPECT_NE(text.find(" more"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace rashpa::receiver
