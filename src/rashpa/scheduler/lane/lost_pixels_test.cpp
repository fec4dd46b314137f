// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/lost_pixels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

// Of images in memory of a device: device_images_test.cpp.
TEST(LostPixels, fills_lost_lines_alone_and_sees_when_somebody_writes_into_them) {
  std::vector<std::byte> memory(8UL * 1024, std::byte{1});
  const LaneConfig config = testing::Bench::config(12, 2, memory);
  const LostPixels pixels(config);
  std::array<LostRun, 2> lost{LostRun{11, 0, 1}, LostRun{10, 2, 2}};
  StackImage image;
  image.raw = memory.data();
  image.lost = lost.data();
  image.lost_count = 2;
  EXPECT_FALSE(pixels.filled(image));
  pixels.fill(image);
  pixels.settle();
  EXPECT_TRUE(pixels.filled(image));
  std::size_t filled = 0;
  for (const std::byte byte : memory) filled += byte == std::byte{0xFF} ? 1 : 0;
  EXPECT_EQ(filled, 3U * 64);
  EXPECT_EQ(memory[512], std::byte{0xFF}) << "the first line of the second DTP";
  EXPECT_EQ(memory[2UL * 64], std::byte{0xFF}) << "the third line of the first one";
  memory[4UL * 64] = std::byte{7};
  EXPECT_TRUE(pixels.filled(image)) << "a line that has arrived";
  memory[4UL * 64 - 1] = std::byte{7};
  EXPECT_FALSE(pixels.filled(image));
}

}  // namespace
}  // namespace rashpa::scheduler
