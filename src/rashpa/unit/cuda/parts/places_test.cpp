// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/places.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "rashpa/unit/cuda/parts/parts_testing.hpp"

namespace rashpa::unit::cuda {
namespace {

TEST(CudaPlaces, say_where_everything_lies) {
  const Places places(testing::two_steps(), testing::small_layout(), 0);
  EXPECT_EQ(places.raw_stride, 256U) << "as in the ring";
  EXPECT_EQ(places.made_strides, (std::vector<std::size_t>{256, 0}));
  EXPECT_EQ(places.leaving_stride, 256U);
  EXPECT_EQ(places.leaving_bytes, 256U);
  EXPECT_EQ(places.mark_words, 0U) << "nobody leaves marks";
  EXPECT_EQ(places.chunk_room, 0U);
  EXPECT_FALSE(places.passed_on);
  EXPECT_EQ(places.at(1, 2), 5U);
  EXPECT_EQ(stored_bytes(testing::two_steps().output), 256U);
}

TEST(CudaPlaces, know_marks_chunks_and_images_that_nobody_has_made) {
  Steps steps = testing::two_steps();
  steps.steps[0].mark_at = 3;
  steps.last_maker = 2;
  steps.output.chunked = true;
  const Places places(steps, testing::small_layout(), 0);
  EXPECT_EQ(places.mark_words, 1U);
  EXPECT_TRUE(places.passed_on);
  EXPECT_GE(places.chunk_room, 256U);
  EXPECT_EQ(places.chunk_room % 16, 0U);
}

TEST(CudaPlaces, of_strips_raw_images_are_packed_and_results_lie_in_whole_images) {
  const Places places(testing::two_steps(), testing::small_layout(), 1024);
  EXPECT_EQ(places.raw_stride, 128U);
  EXPECT_EQ(places.leaving_stride, 1024U);
  EXPECT_EQ(places.leaving_bytes, 256U);
}

}  // namespace
}  // namespace rashpa::unit::cuda
