// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stream2/messages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rashpa::sink::stream2 {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const Series kSeries{.id = 7, .unique_id = "A", .arm_date = "2026-01-01T00:00:00Z", .date = ""};
const Output kOutput{.buffer = "full", .run = 7, .width = 64, .height = 40, .stack = 1, .images = 10};

TEST(Messages, an_image_says_all_its_lost_lines) {
  std::array<LostRun, 2> lost{{{3, 10, 2}, {3, 20, 1}}};
  StackImage image;
  image.lost = lost.data();
  image.lost_count = 2;
  Cbor out;
  write_image(out, kSeries, {}, kOutput, {}, image, 100);
  EXPECT_NE(text_of(out.bytes()).find(std::string("\x64lost\x82\x83\x03\x0A\x02\x83\x03\x14\x01")), std::string::npos);
}

TEST(Messages, the_start_says_where_lines_lie) {
  NxmxMetadata metadata;
  metadata.dtps = {{.id = 3, .module = 1, .x = 2, .y = 4, .width = 20, .height = 23, .orientation = {90, true}}};
  metadata.dtps[0].line_rows = {0, 5};
  Cbor out;
  write_start(out, kSeries, kOutput, metadata);
  using namespace std::string_view_literals;
  const auto expected =
      "\x64"
      "dtps\x81\xB9\x00\x09\x62id\x03\x66module\x01\x61x\x02\x61y\x04\x65width\x14\x66height\x17\x64turn\x18\x5A\x64"
      "flip\xF5\x69line_rows\x82\x00\x05"sv;
  EXPECT_NE(text_of(out.bytes()).find(expected), std::string::npos);
}

}  // namespace
}  // namespace rashpa::sink::stream2
