// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/lost_pixels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

/// Remembers the parts that it has to fill. The rest of images in memory of a device: device_images_test.cpp.
class ToldImages final : public memory::DeviceImages {
 public:
  [[nodiscard]] const memory::DmaBlock& block() const noexcept override { return block_; }
  [[nodiscard]] const std::string& how() const noexcept override { return how_; }
  [[nodiscard]] bool shows_words() const noexcept override { return true; }
  void order_writes() noexcept override {}
  void fill(const memory::LostPart& part) noexcept override { parts.push_back(part); }
  void settle() noexcept override {}
  [[nodiscard]] bool holds_lost(const memory::LostPart& /*part*/) noexcept override { return true; }
  std::vector<memory::LostPart> parts;

 private:
  memory::DmaBlock block_;
  std::string how_ = "nothing";
};

TEST(LostPixels, a_device_is_told_where_the_lines_lie_in_its_memory) {
  std::vector<std::byte> memory(8UL * 1024);
  ToldImages images;
  LaneConfig config = testing::Bench::config(12, 2, memory);
  config.device_images = &images;
  config.pixels_offset = 4096;
  std::array<LostRun, 1> lost{LostRun{11, 3, 2}};
  StackImage image;
  image.index = 10;  // in the third of eight slots
  image.lost = lost.data();
  image.lost_count = 1;
  LostPixels(config).fill(image);
  ASSERT_EQ(images.parts.size(), 1U);
  EXPECT_EQ(images.parts[0].first, 4096U + 2 * 1024 + 512 + 3 * 64);
  EXPECT_EQ(images.parts[0].pitch, 64U);
  EXPECT_EQ(images.parts[0].line_bytes, 64U);
  EXPECT_EQ(images.parts[0].lines, 2U);
}

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
