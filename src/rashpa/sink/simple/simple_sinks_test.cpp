// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/simple/memory_sink.hpp"
#include "rashpa/sink/simple/null_sink.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::sink {
namespace {

/// A stack of accepted 3 × 2 images whose pixels are their frame number; every third one is vetoed.
struct Fixture {
  explicit Fixture(std::uint64_t first, std::uint32_t count) : pixels(count) {
    stack.count = count;
    stack.images.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      StackImage& image = stack.images[i];
      image.frame_number = first + i;
      image.decision = image.frame_number % 3 == 2 ? Decision::vetoed : Decision::accepted;
      pixels[i].fill(static_cast<std::uint16_t>(image.frame_number));
      image.pixels = reinterpret_cast<const std::byte*>(pixels[i].data());
    }
  }
  std::vector<std::array<std::uint16_t, 6>> pixels;
  Stack stack;
};

std::uint16_t first_pixel(const MemorySnapshot& snapshot, std::size_t image) {
  std::uint16_t value = 0;
  std::memcpy(&value, snapshot.pixels.data() + image * 12, 2);
  return value;
}

TEST(NullSink, accepted_images_are_counted_and_others_are_not) {
  NullSink sink(12);
  Fixture stack(0, 10);
  put_and_mark(sink, stack.stack);
  EXPECT_EQ(sink.stats().images_written, 7U);
  EXPECT_EQ(sink.stats().bytes_written, 84U);
}

TEST(MemorySink, the_latest_accepted_images_are_kept_oldest_first) {
  MemorySink sink(4, 3, 2, PixelType::u16);
  Fixture first(0, 4), second(4, 6);
  put_and_mark(sink, first.stack);
  EXPECT_EQ(sink.snapshot().frame_numbers, (std::vector<std::uint64_t>{0, 1, 3}));
  put_and_mark(sink, second.stack);
  const MemorySnapshot snapshot = sink.snapshot();
  EXPECT_EQ(snapshot.frame_numbers, (std::vector<std::uint64_t>{4, 6, 7, 9}));
  ASSERT_EQ(snapshot.pixels.size(), 48U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(first_pixel(snapshot, i), snapshot.frame_numbers[i]);
  EXPECT_EQ(sink.stats().images_written, 7U);
}

TEST(MemorySink, csr_images_are_expanded) {
  MemorySink sink(1, 3, 2, PixelType::i16);
  Fixture one(0, 1);
  const std::uint32_t index[] = {1, 5};
  const std::int16_t value[] = {7, -3};
  one.stack.images[0].sparse = {index, value, 2};
  put_and_mark(sink, one.stack);
  std::array<std::int16_t, 6> image{};
  const MemorySnapshot snapshot = sink.snapshot();
  std::memcpy(image.data(), snapshot.pixels.data(), 12);
  EXPECT_EQ(image, (std::array<std::int16_t, 6>{0, 7, 0, 0, 0, -3}));
}

TEST(MemorySink, an_image_that_does_not_fit_is_errored_with_a_reason) {
  MemorySink sink(1, 3, 2, PixelType::i16);
  Fixture stack(0, 2);
  const std::uint32_t outside = 6;
  const std::int16_t value = 1;
  stack.stack.images[0].sparse = {&outside, &value, 1};
  put_and_mark(sink, stack.stack);
  EXPECT_EQ(stack.stack.images[0].decision, Decision::errored);
  EXPECT_EQ(stack.stack.images[1].decision, Decision::accepted);
  EXPECT_NE(sink.error().find("frame 0"), std::string::npos);
  EXPECT_EQ(sink.stats().images_written, 1U);
}

TEST(MemorySink, a_sink_for_nothing_is_refused) {
  EXPECT_THROW(MemorySink(0, 3, 2, PixelType::u16), ConfigError);
  EXPECT_THROW(MemorySink(1, 0, 2, PixelType::u16), ConfigError);
}

TEST(StoreImages, every_image_of_an_array_is_accounted_for) {
  MemorySink sink(10, 1, 1, PixelType::u16);
  std::vector<std::uint16_t> pixels(25);
  std::vector<std::uint64_t> frames(25);
  std::vector<Completeness> completeness(25, Completeness::complete);
  std::vector<Decision> decisions(25, Decision::accepted);
  const std::vector<VetoReason> reasons(25);
  for (std::uint16_t i = 0; i < 25; ++i) frames[i] = pixels[i] = i;
  completeness[3] = Completeness::missing;
  decisions[3] = Decision::none;
  decisions[24] = Decision::vetoed;
  const ImageArray images{
      reinterpret_cast<const std::byte*>(pixels.data()), 2, frames, completeness, decisions, reasons};
  const Books books = store_images(sink, images);
  EXPECT_EQ(books, (Books{.expected = 25, .complete = 24, .missing = 1, .accepted = 23, .vetoed = 1, .written = 23}));
  EXPECT_TRUE(books.balanced());
  EXPECT_EQ(sink.snapshot().frame_numbers.back(), 23U);
  frames.pop_back();
  EXPECT_THROW(store_images(sink, {images.pixels, 2, frames, completeness, decisions, reasons}), ConfigError);
}

}  // namespace
}  // namespace rashpa::sink
