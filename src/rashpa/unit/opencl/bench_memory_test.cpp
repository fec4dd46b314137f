// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/bench_memory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "rashpa/unit/opencl/parts_testing.hpp"

namespace rashpa::unit::opencl {
namespace {

TEST(OpenclPlaces, say_where_everything_lies) {
  const Places places(testing::two_steps(), testing::small_layout(), false);
  EXPECT_EQ(places.image_bytes, 128U);
  EXPECT_EQ(places.mark_words, 1U);
  EXPECT_EQ(places.made_strides, (std::vector<std::size_t>{256, 0}));
  EXPECT_TRUE(places.pixels_leave);
  EXPECT_FALSE(places.passed_on);
  EXPECT_EQ(places.leaving_stride(), 256U);
  EXPECT_FALSE(places.made_in_slot(0));
  const Places in_place(testing::two_steps(), testing::small_layout(), true);
  EXPECT_TRUE(in_place.made_in_slot(0));
  EXPECT_FALSE(in_place.made_in_slot(1));
  Steps passing = testing::two_steps();
  passing.last_maker = 2;
  const Places passed(passing, testing::small_layout(), true);
  EXPECT_TRUE(passed.passed_on);
  EXPECT_EQ(passed.leaving_stride(), 0U);
}

using BenchMemoryTest = testing::OnDevice;

TEST_F(BenchMemoryTest, brings_the_images_that_are_at_work_and_no_others) {
  const Places places(testing::two_steps(), testing::small_layout(), false);
  BenchMemory memory(*device, testing::two_steps(), places, 2, queue.get());
  std::array<std::vector<std::uint16_t>, 3> pixels;
  std::vector<StackImage> images(3);
  for (std::size_t i = 0; i < 3; ++i) {
    pixels[i].assign(64, static_cast<std::uint16_t>(i + 1));
    images[i].raw = reinterpret_cast<std::byte*>(pixels[i].data());
  }
  const std::vector<std::uint16_t> nothing(3 * 128, 0);
  memory::opencl::check(memory::opencl::api().write_buffer(queue.get(), memory.raw(1), CL_TRUE, 0, nothing.size() * 2,
                                                           nothing.data(), 0, nullptr, nullptr),
                        "test");
  memory.begin(1, std::array<std::uint8_t, 3>{1, 0, 1});
  ASSERT_EQ(memory.bring_in(1, images, queue.get()), CL_SUCCESS);
  const auto found = read<std::uint16_t>(memory.raw(1), 3 * 128);
  EXPECT_EQ(found[63], 1);
  EXPECT_EQ(found[64], 0) << "the gap behind an image";
  EXPECT_EQ(found[128], 0) << "not at work";
  EXPECT_EQ(found[2 * 128], 3);
}

TEST_F(BenchMemoryTest, books_go_to_the_device_and_come_back_bench_by_bench) {
  const Places places(testing::two_steps(), testing::small_layout(), false);
  BenchMemory memory(*device, testing::two_steps(), places, 2, queue.get());
  memory.begin(0, std::array<std::uint8_t, 2>{1, 1});
  memory.books(0)[0].entries = 9;
  memory.begin(0, std::array<std::uint8_t, 2>{0, 1});
  EXPECT_EQ(memory.books(0)[0].entries, 0U) << "a stack begins with clear books";
  EXPECT_EQ(memory.work(0)[1], 1);
  EXPECT_EQ(memory.work(0)[2], 0) << "a short stack has no third image";
  EXPECT_EQ(memory.books(0)[1].work, 1);
  memory.books(0)[1].counted = 77;
  memory.begin(1, {});
  ASSERT_EQ(memory.send_books(0, queue.get(), nullptr), CL_SUCCESS);
  finish();
  memory.books(0)[1].counted = 0;
  memory::opencl::Event done;
  ASSERT_EQ(memory.fetch_books(0, queue.get(), done.fill()), CL_SUCCESS);
  finish();
  EXPECT_NE(done.get(), nullptr);
  EXPECT_EQ(memory.books(0)[1].counted, 77U);
  EXPECT_EQ(memory.books(1)[1].counted, 0U);
}

TEST_F(BenchMemoryTest, takes_what_is_needed_and_nothing_else) {
  const Places copied(testing::two_steps(), testing::small_layout(), false);
  const BenchMemory with(*device, testing::two_steps(), copied, 1, queue.get());
  EXPECT_NE(with.raw(0), nullptr);
  EXPECT_NE(with.made(0, 0), nullptr);
  EXPECT_EQ(with.made(0, 1), nullptr) << "that step makes no pixels";
  EXPECT_EQ(with.marks(0), nullptr) << "nobody leaves marks";
  Steps marking = testing::two_steps();
  marking.marks = true;
  const Places in_place(marking, testing::small_layout(), true);
  const BenchMemory without(*device, marking, in_place, 1, queue.get());
  EXPECT_EQ(without.raw(0), nullptr);
  EXPECT_EQ(without.made(0, 0), nullptr) << "they lie in the slot";
  EXPECT_EQ(read<std::uint64_t>(without.marks(0), 3), std::vector<std::uint64_t>(3, 0));
}

}  // namespace
}  // namespace rashpa::unit::opencl
