// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/stack_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/receiver/sinks/testing.hpp"

namespace rashpa::receiver {
namespace {

using namespace testing;

TEST(StackCopies, a_chunk_is_copied_in_place_of_pixels) {
  sink::Output chunked = output();
  chunked.chunked = true;
  StackCopies copies(chunked, 1, 0);
  Stacks stacks;
  Stack& stack = stacks.stacks[0];
  const Careless guard;
  stack.guard = &guard;
  std::vector<std::byte> chunk(20, std::byte{7});
  for (StackImage& image : stack.images) {
    image.pixels = nullptr;
    image.chunk = chunk;
  }
  const Stack* copy = copies.take(stack);
  ASSERT_NE(copy, nullptr);
  std::fill(chunk.begin(), chunk.end(), std::byte{});
  EXPECT_EQ(copy->images[0].pixels, nullptr);
  ASSERT_EQ(copy->images[0].chunk.size(), 20U);
  EXPECT_EQ(copy->images[0].chunk[19], std::byte{7});
  EXPECT_EQ(copy->images[1].decision, Decision::accepted) << "its slot is not what was read";
}

TEST(StackCopies, an_accepted_image_without_its_chunk_is_errored) {
  sink::Output chunked = output();
  chunked.chunked = true;
  StackCopies copies(chunked, 1, 0);
  Stacks stacks;
  Stack& stack = stacks.stacks[0];
  for (StackImage& image : stack.images) image.pixels = nullptr;
  const Stack* copy = copies.take(stack);
  ASSERT_NE(copy, nullptr);
  for (const StackImage& image : copy->images) EXPECT_EQ(image.error, ErrorReason::storage);
}

TEST(StackCopies, profiles_of_accepted_images_are_copied) {
  sink::Output given = output();
  given.results.profiles = {{"one", {{.name = "a"}, {.name = "b"}}, {{.name = "x", .values = {1, 2, 3}}}, {}},
                            {"two", {{.name = "a"}}, {{.name = "x", .values = {1, 2}}}, {}}};
  StackCopies copies(given, 1, 0);
  Stacks stacks;
  Stack& stack = stacks.stacks[0];
  std::vector<double> one{1, 2, 3, 4, 5, 6}, two{7, 8};
  for (StackImage& image : stack.images) image.profiles = {{{one.data()}, {two.data()}}};
  stack.images[1].decision = Decision::vetoed;
  stack.images[1].profiles = {};
  const Stack* copy = copies.take(stack);
  ASSERT_NE(copy, nullptr);
  std::fill(one.begin(), one.end(), 0);
  std::fill(two.begin(), two.end(), 0);
  EXPECT_EQ(copy->images[0].profiles[0].values[5], 6);
  EXPECT_EQ(copy->images[0].profiles[1].values[1], 8);
  EXPECT_EQ(copy->images[1].profiles[0].values, nullptr);
}

TEST(StackCopies, facts_lists_and_lost_lines_are_copied_and_what_was_overwritten_is_errored) {
  sink::Output lists = output();
  lists.pixel = PixelType::i16;
  lists.sparse = true;
  lists.list_capacity = 4;
  StackCopies copies(lists, 1, 2);
  Stacks given;
  Stack& stack = given.stacks[0];
  const std::uint32_t index[] = {0, 2, 5};
  const std::int16_t value[] = {7, 8, 9};
  LostRun run{3, 1, 1};
  stack.images[0].sparse = {index, value, 3};
  stack.images[0].lost = &run;
  stack.images[0].lost_count = 1;
  stack.images[1].sparse = {index, value, 5};
  const Stack* copy = copies.take(stack);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copies.take(stack), nullptr) << "there is room for one";
  const StackImage& first = copy->images[0];
  EXPECT_EQ(first.frame_number, 100U);
  EXPECT_EQ(first.lost_runs()[0], run);
  EXPECT_NE(first.lost, &run);
  ASSERT_EQ(first.sparse.count, 3U);
  EXPECT_EQ(first.sparse.index[2], 5U);
  EXPECT_EQ(static_cast<const std::int16_t*>(first.sparse.value)[2], 9);
  EXPECT_EQ(copy->images[1].error, ErrorReason::storage) << "longer than there is room for";
  copies.give_back(copy->slot);
  EXPECT_NE(copies.take(stack), nullptr);

  StackCopies dense(output(), 1, 0);
  const Careless guard;
  Stack& other = given.stacks[0];
  other.guard = &guard;
  for (StackImage& image : other.images) {
    image.sparse = {};
    image.raw = const_cast<std::byte*>(image.pixels);
    image.lost_count = 0;
  }
  const Stack* pixels = dense.take(other);
  ASSERT_NE(pixels, nullptr);
  EXPECT_EQ(pixels->images[0].decision, Decision::accepted);
  EXPECT_EQ(pixels->images[1].error, ErrorReason::overwritten);
  EXPECT_TRUE(pixels->intact(pixels->images[0])) << "a copy stays as it is";
}

}  // namespace
}  // namespace rashpa::receiver
