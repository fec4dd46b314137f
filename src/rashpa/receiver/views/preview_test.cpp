// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/views/preview.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/runs_testing.hpp"

namespace rashpa::receiver {
namespace {

constexpr std::uint32_t kWidth = 3, kHeight = 2, kPixels = kWidth * kHeight;

sink::Output output() {
  sink::Output out{.buffer = "full", .width = kWidth, .height = kHeight, .pixel = PixelType::u16};
  out.results.columns = {{.name = "bright", .type = Column::Type::u32}};
  out.results.tables = {{.name = "peaks", .columns = {{.name = "x"}, {.name = "y"}}, .capacity = 4}};
  return out;
}

/// One stack of images whose pixels are their frame number.
class Stacked {
 public:
  explicit Stacked(std::uint64_t first, std::vector<Decision> decisions) : pixels_(decisions.size() * kPixels) {
    stack.count = static_cast<std::uint32_t>(decisions.size());
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      StackImage image;
      image.index = first + i;
      image.frame_number = 10 * (first + i);
      image.completeness = Completeness::complete;
      image.decision = decisions[i];
      std::fill_n(pixels_.begin() + static_cast<std::ptrdiff_t>(i * kPixels), kPixels,
                  static_cast<std::uint16_t>(image.frame_number));
      image.pixels = reinterpret_cast<const std::byte*>(pixels_.data() + i * kPixels);
      image.scalars[0] = Scalar::of_count(image.index + 1);
      stack.images.push_back(image);
    }
  }
  Stack stack;

 private:
  std::vector<std::uint16_t> pixels_;
};

std::vector<std::uint16_t> values(const Preview& preview) {
  std::vector<std::uint16_t> found(preview.pixels.size() / sizeof(std::uint16_t));
  std::memcpy(found.data(), preview.pixels.data(), preview.pixels.size());
  return found;
}

constexpr Decision kTaken = Decision::accepted, kVetoed = Decision::vetoed;

TEST(Previews, there_is_none_before_the_first_accepted_image) {
  Previews previews(output(), 4);
  EXPECT_EQ(previews.latest(), nullptr);
  previews.offer(Stacked(0, {kVetoed, kVetoed}).stack);
  EXPECT_EQ(previews.latest(), nullptr);
}

TEST(Previews, the_last_accepted_image_of_a_stack_is_kept_with_all_that_is_known_of_it) {
  Previews previews(output(), 4);
  Stacked stacked(4, {kTaken, kTaken, kVetoed});
  std::array<LostRun, 1> lost{{{.dtp = 3, .first_line = 1, .lines = 1}}};
  const std::array<Scalar, 4> rows{Scalar::of_count(1), Scalar::of_count(0), Scalar::of_count(2), Scalar::of_count(1)};
  StackImage& image = stacked.stack.images[1];
  image.completeness = Completeness::partial;
  image.lost = lost.data();
  image.lost_count = 1;
  image.tables[0] = {.values = rows.data(), .rows = 2};
  previews.offer(stacked.stack);
  const auto found = previews.latest();
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->index, 5U);
  EXPECT_EQ(found->frame_number, 50U);
  EXPECT_EQ(found->completeness, Completeness::partial);
  EXPECT_EQ(values(*found), std::vector<std::uint16_t>(kPixels, 50));
  EXPECT_EQ(found->lost, std::vector<LostRun>(lost.begin(), lost.end()));
  EXPECT_EQ(found->scalars[0].count(), 6U);
  EXPECT_EQ(found->tables[0], std::vector<Scalar>(rows.begin(), rows.end()));
}

TEST(Previews, nothing_is_copied_while_nobody_asks) {
  Previews previews(output(), 4);
  previews.offer(Stacked(0, {kTaken}).stack);
  previews.offer(Stacked(1, {kTaken}).stack);
  EXPECT_EQ(previews.latest()->index, 0U);
  previews.offer(Stacked(2, {kTaken}).stack);
  previews.offer(Stacked(3, {kTaken}).stack);
  EXPECT_EQ(previews.latest()->index, 2U);
}

TEST(Previews, what_somebody_holds_does_not_change_and_nobody_waits_for_him) {
  auto previews = std::make_unique<Previews>(output(), 4);
  previews->offer(Stacked(0, {kTaken}).stack);
  const auto held = previews->latest();
  previews->offer(Stacked(1, {kTaken}).stack);
  auto second = previews->latest();
  ASSERT_EQ(second->index, 1U);
  previews->offer(Stacked(2, {kTaken}).stack);  // both rooms are held
  EXPECT_EQ(previews->latest()->index, 1U);
  second.reset();
  EXPECT_EQ(held->index, 0U);
  EXPECT_EQ(values(*held), std::vector<std::uint16_t>(kPixels, 0));
  previews.reset();
  EXPECT_EQ(values(*held), std::vector<std::uint16_t>(kPixels, 0));
}

TEST(Previews, a_list_of_pixels_becomes_an_image) {
  sink::Output sparse = output();
  sparse.sparse = true;
  Previews previews(sparse, 4);
  Stacked stacked(0, {kTaken});
  const std::array<std::uint32_t, 2> index{1, 5};
  const std::array<std::uint16_t, 2> value{7, 9};
  stacked.stack.images[0].pixels = nullptr;
  stacked.stack.images[0].sparse = {.index = index.data(), .value = value.data(), .count = 2};
  previews.offer(stacked.stack);
  EXPECT_EQ(values(*previews.latest()), (std::vector<std::uint16_t>{0, 7, 0, 0, 0, 9}));
}

TEST(Previews, a_chunk_becomes_an_image) {
  sink::Output chunked = output();
  chunked.chunked = true;
  Previews previews(chunked, 4);
  Stacked stacked(3, {kTaken});
  StackImage& image = stacked.stack.images[0];
  const std::vector<std::byte> chunk =
      kernel::bitshuffle_lz4::chunk_of_runs({image.pixels, kPixels * sizeof(std::uint16_t)}, sizeof(std::uint16_t));
  image.pixels = nullptr;
  image.chunk = chunk;
  previews.offer(stacked.stack);
  const auto found = previews.latest();
  ASSERT_NE(found, nullptr);
  EXPECT_FALSE(found->arriving);
  EXPECT_EQ(values(*found), std::vector<std::uint16_t>(kPixels, 30));
}

TEST(Previews, an_image_that_was_written_over_meanwhile_is_not_shown) {
  struct Overwritten final : SlotGuard {
    [[nodiscard]] bool overwritten(const StackImage&) const noexcept override { return true; }
  } guard;
  Previews previews(output(), 4);
  Stacked stacked(0, {kTaken});
  stacked.stack.guard = &guard;
  stacked.stack.images[0].raw = const_cast<std::byte*>(stacked.stack.images[0].pixels);
  previews.offer(stacked.stack);
  EXPECT_EQ(previews.latest(), nullptr);
}

}  // namespace
}  // namespace rashpa::receiver
