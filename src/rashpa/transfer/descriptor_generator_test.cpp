// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/descriptor_generator.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa::transfer {
namespace {

constexpr std::uint32_t kWidth = 64;
constexpr std::uint32_t kHeight = 16;

struct Case {
  const char* name;
  Region region;
  std::uint64_t pitch;       // at the destination
  std::uint64_t first_line;  // offset
  std::uint32_t largest;
  std::uint64_t descriptors;  // expected per image
};

class Descriptors : public testing::TestWithParam<Case> {};

// Copies by descriptors and compares with a plain loop over the formula of placement.hpp.
TEST_P(Descriptors, carry_every_pixel_of_the_region_to_its_place_and_nothing_else) {
  const Case& c = GetParam();
  std::vector<std::uint16_t> frame(std::size_t{kWidth} * kHeight);
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::uint16_t>(i + 1);
  Placement place{.pixels_offset = 256,
                  .slot_bytes = 8192,
                  .slots = 3,
                  .first_line_offset = c.first_line,
                  .pitch = c.pitch,
                  .line_bytes = c.region.width * 2,
                  .lines = c.region.height,
                  .records_offset = 0};
  DescriptorGenerator generator(c.region, std::uint64_t{kWidth} * 2, 2, place, c.largest);
  for (std::uint64_t index : {0ULL, 1ULL, 5ULL}) {
    std::vector<std::byte> got(256 + 3 * 8192);
    std::vector<std::byte> expected(got.size());
    for (std::uint32_t i = 0; i < c.region.height; ++i) {
      std::memcpy(expected.data() + 256 + (index % 3) * 8192 + c.first_line + i * c.pitch,
                  frame.data() + std::size_t{c.region.y + i} * kWidth + c.region.x, std::size_t{c.region.width} * 2);
    }
    generator.begin(reinterpret_cast<const std::byte*>(frame.data()), index);
    std::vector<link::BufferDescriptor> batch(3);
    std::uint64_t count = 0;
    while (const std::size_t n = generator.next(batch)) {
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_LE(batch[i].bytes, c.largest);
        std::memcpy(got.data() + batch[i].destination, batch[i].source, batch[i].bytes);
      }
      count += n;
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(count, c.descriptors);
    EXPECT_EQ(generator.per_image(), c.descriptors);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Descriptors,
    testing::Values(Case{"whole_frame_merges_to_the_largest_message", {0, 0, 64, 16}, 128, 0, 1024, 2},
                    Case{"merging_takes_whole_lines_only", {0, 0, 64, 16}, 128, 0, 300, 8},
                    Case{"a_gap_at_the_destination_stops_merging", {0, 0, 64, 16}, 160, 32, 4096, 16},
                    Case{"a_narrow_region_is_one_run_a_line", {8, 4, 16, 5}, 32, 0, 4096, 5},
                    Case{"a_line_longer_than_a_message_is_cut", {0, 0, 64, 4}, 128, 0, 48, 12},
                    Case{"one_line", {3, 15, 61, 1}, 122, 64, 4096, 1}),
    [](const auto& test) { return test.param.name; });

TEST(DescriptorGenerator, a_placement_of_another_shape_is_refused) {
  Placement place{.slots = 2, .pitch = 128, .line_bytes = 100, .lines = 16};
  EXPECT_THROW(DescriptorGenerator({0, 0, 64, 16}, 128, 2, place, 4096), ConfigError);
}

}  // namespace
}  // namespace rashpa::transfer
