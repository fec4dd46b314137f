// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/frame/dealt.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

using testing::Bench;

/// Drives a lane whose images are dealt.
struct DealtBench : Bench {
  DealtBench() : Bench(12, 2, kToldByRecords) {}
};

TEST(Lane, the_records_of_dealt_images_tell_their_frames) {
  DealtBench b;
  const auto arrival = [](std::uint32_t dtp, std::uint64_t index, std::uint64_t frame) {
    link::Arrival out = Bench::good(dtp, index);
    out.record.frame_number = frame;
    return out;
  };
  const std::array<std::uint64_t, 4> frames{70, 4, 900, 5};
  for (std::uint64_t i = 0; i < 3; ++i) {
    for (std::uint32_t dtp = 0; dtp < 2; ++dtp) b.give(arrival(dtp, i, frames[i]));
  }
  b.give(arrival(0, 3, frames[3]));
  b.give(arrival(1, 3, 6));  // of another frame
  ASSERT_TRUE(b.lane.advance(100));
  const Stack& stack = *b.unit.stacks[0];
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(stack.images[i].frame_number, frames[i]);
  EXPECT_EQ(stack.images[2].completeness, Completeness::complete);
  EXPECT_EQ(stack.images[3].completeness, Completeness::partial) << "two frames are not one image";
  EXPECT_EQ(b.lane.first_incomplete().loss, link::Loss::corrupt);
}

TEST(Lane, a_dealt_image_that_is_missing_has_no_frame) {
  DealtBench b;
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (std::uint32_t dtp = 0; dtp < 2; ++dtp) b.give(Bench::lost(dtp, i, link::Loss::event));
  }
  ASSERT_TRUE(b.lane.advance(100));
  EXPECT_EQ(b.unit.stacks[0]->images[1].frame_number, kUnknownFrame);
}

}  // namespace
}  // namespace rashpa::scheduler
