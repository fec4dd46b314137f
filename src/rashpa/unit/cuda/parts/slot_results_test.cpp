// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/slot_results.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "rashpa/unit/cuda/parts/parts_testing.hpp"

namespace rashpa::unit::cuda {
namespace {

Steps with_a_column() {
  Steps steps = testing::two_steps();
  steps.output.results.columns.push_back({.name = "a"});
  return steps;
}

TEST(CudaSlotResults, are_read_where_a_delivery_was_told_to_put_them) {
  const Steps steps = with_a_column();
  const Places places(steps, testing::small_layout(), 0);
  const SlotResults results(steps.output, places, testing::small_layout(), nullptr);
  Deliver delivery{};
  results.address(1, delivery);
  EXPECT_EQ(results.done(1), 0U);
  *delivery.host_done = 9;
  delivery.host_findings[2].entries = 7;
  delivery.host_scalars[2] = Scalar::of_integer(-5);
  std::memset(delivery.host_images + 2 * delivery.host_stride, 0x11, delivery.host_bytes);
  EXPECT_EQ(results.done(1), 9U);
  EXPECT_EQ(results.done(0), 0U) << "another slot";
  EXPECT_EQ(results.decided(1), 0U);
  EXPECT_EQ(results.finding(1, 2).entries, 7U);
  EXPECT_EQ(results.scalars(1, 2)->integer(), -5);
  std::int32_t pixel = 0;
  std::memcpy(&pixel, results.pixels(1, 2) + 63 * sizeof(pixel), sizeof(pixel));
  EXPECT_EQ(pixel, 0x11111111);
  std::memcpy(&pixel, results.pixels(1, 1), sizeof(pixel));
  EXPECT_EQ(pixel, 0) << "another image";
}

TEST(CudaSlotResults, images_that_nobody_has_made_are_those_of_the_ring) {
  Steps steps = testing::two_steps();
  steps.last_maker = 2;
  std::vector<std::byte> ring(2 * 3 * 256);
  Layout layout = testing::small_layout();
  layout.images = ring.data();
  const Places places(steps, layout, 0);
  const SlotResults results(steps.output, places, layout, nullptr);
  EXPECT_EQ(results.first_image(), nullptr) << "no memory of their own";
  EXPECT_EQ(results.pixels(1, 2), ring.data() + 5 * 256);
}

TEST(CudaSlotResults, chunks_have_room_and_a_length_each) {
  Steps steps = testing::two_steps();
  steps.output.chunked = true;
  steps.output.pixels = false;
  const Places places(steps, testing::small_layout(), 0);
  const SlotResults results(steps.output, places, testing::small_layout(), nullptr);
  const kernel::bitshuffle_lz4::cuda::Chunks out = results.chunks(1);
  out.bytes[2] = 4;
  std::memcpy(out.chunks + 2 * out.stride, "abcd", 4);
  const std::span<const std::byte> chunk = results.chunk(1, 2);
  ASSERT_EQ(chunk.size(), 4U);
  EXPECT_EQ(std::memcmp(chunk.data(), "abcd", 4), 0);
  EXPECT_EQ(results.first_image(), nullptr);
}

TEST(CudaSlotResults, of_strips_lie_in_the_images_of_all_members) {
  const Steps steps = testing::two_steps();
  std::vector<std::byte> ring(2 * 3 * 256);
  Layout whole = testing::small_layout();
  whole.images = ring.data();
  whole.height = 8;
  whole.image_stride = 512;
  ring.resize(2 * 3 * 512);
  whole.images = ring.data();
  Output output = steps.output;
  output.height = 8;
  output.delivered = false;
  const Seat seat{std::make_shared<Joint>(whole, output, std::vector<Meeting>{}, 2), 1, 256};
  const Places places(steps, testing::small_layout(), seat.joint->image_bytes());
  const SlotResults results(steps.output, places, testing::small_layout(), &seat);
  EXPECT_EQ(results.first_image(), nullptr);
  EXPECT_EQ(results.pixels(1, 2), seat.joint->images() + 5 * seat.joint->image_bytes() + 256);
}

}  // namespace
}  // namespace rashpa::unit::cuda
