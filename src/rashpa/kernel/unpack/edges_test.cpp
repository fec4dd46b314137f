// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/unpack/edges.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace rashpa::kernel::unpack {
namespace {

constexpr std::uint32_t kGap = ~0U;

/// The counter of each pixel as the step on the processor puts it there: each counter holds its own number.
std::vector<std::uint32_t> counters(Config config) {
  config.bits = Bits::twenty_four;
  std::vector<std::byte> packed(config.packed().pixels());
  for (std::uint32_t c = 0; c < packed.size() / 3; ++c) std::memcpy(&packed[std::size_t{3} * c], &c, 3);
  std::vector<std::uint32_t> made(config.made().pixels());
  unpack_lines(config, packed.data(), reinterpret_cast<std::byte*>(made.data()), 0, config.packed().height);
  return made;
}

class UnpackEdges : public testing::TestWithParam<Config> {};

TEST_P(UnpackEdges, are_all_that_is_not_of_one_line) {
  for (const Bits bits : {Bits::one, Bits::six, Bits::twelve, Bits::twenty_four}) {
    Config config = GetParam();
    config.bits = bits;
    const auto truth = counters(config);
    const auto count = static_cast<std::uint32_t>(16 / pixel_bytes(type_of(bits)));
    const auto edges = edges_of(config);
    std::size_t next = 0;
    std::size_t singly = 0;
    for (std::uint32_t pixel = 0; pixel < truth.size(); pixel += count) {
      SCOPED_TRACE(testing::Message() << count_of(bits) << " bits, pixel " << pixel);
      if (next == edges.size() || edges[next].pixel != pixel) {  // a tile makes them from counters in a row
        ASSERT_LE(pixel + count, truth.size());
        for (std::uint32_t k = 0; k < count; ++k) ASSERT_EQ(truth[pixel + k], truth[pixel] + k);
        ASSERT_NE(truth[pixel], kGap);
        if (has_gaps(config)) {
          ASSERT_LE(truth[pixel] % config.module_width + count, config.module_width);
        }
        continue;
      }
      const Edge& edge = edges[next++];
      if (edge.before == Edge::kSingly) {
        ++singly;
        continue;
      }
      ASSERT_LE(edge.before, edge.after);
      ASSERT_LE(edge.after, count);
      ASSERT_LE(pixel + count, truth.size());
      const std::size_t all =
          std::size_t{config.module_width} * config.module_height * config.modules_across * config.modules_down;
      ASSERT_TRUE(edge.before == 0 || edge.first + count <= all);
      ASSERT_TRUE(edge.after == count || edge.second + count <= all);
      for (std::uint32_t k = 0; k < count; ++k) {
        const std::uint32_t here = k < edge.before ? edge.first + k : k < edge.after ? kGap : edge.second + k;
        ASSERT_EQ(truth[pixel + k], here) << "place " << k;
      }
    }
    EXPECT_EQ(next, edges.size());
    // One by one are those at the end of the image, and lines of modules that are shorter than a vector.
    if (config.module_width >= count) {
      EXPECT_LE(singly, 2U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, UnpackEdges,
                         testing::Values(Config{Bits::one, 8, 1}, Config{Bits::one, 264, 5},
                                         Config{Bits::one, 264, 105, 2, 2}, Config{Bits::one, 24, 3, 2, 3, 5, 2},
                                         Config{Bits::one, 40, 2, 3, 1, 4, 0}, Config{Bits::one, 16, 3, 2, 2, 0, 1},
                                         Config{Bits::one, 256, 64, 3, 2, 16, 37}, Config{Bits::one, 8, 4, 3, 2, 5, 1},
                                         Config{Bits::one, 40, 3, 3, 2, 3, 3}, Config{Bits::one, 24, 5, 3, 2, 30, 0},
                                         Config{Bits::one, 512, 20, 4, 2, 3, 3}));

TEST(UnpackEdges, without_gaps_there_is_only_the_end_of_the_image) {
  EXPECT_TRUE(edges_of({Bits::six, 512, 16, 2, 2}).empty());
  const auto edges = edges_of({Bits::one, 264, 5, 1, 1});
  ASSERT_EQ(edges.size(), 1U);
  EXPECT_EQ(edges[0].pixel, 264 * 5 / 16 * 16);
  EXPECT_EQ(edges[0].before, Edge::kSingly);
}

}  // namespace
}  // namespace rashpa::kernel::unpack
