// SPDX-License-Identifier: Apache-2.0
#include "rashpa/offline/runner.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"

namespace rashpa::offline {
namespace {

constexpr std::uint32_t kWidth = 37;
constexpr std::uint32_t kHeight = 5;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr std::size_t kApart = kPixels + 3;  // images do not lie one after the other

/// Image i has i bright pixels, the last ones.
std::vector<std::uint16_t> images(std::size_t count) {
  std::vector<std::uint16_t> pixels(count * kApart);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t n = 0; n < i; ++n) pixels[i * kApart + kPixels - 1 - n] = 9;
  }
  return pixels;
}

Images view(const std::vector<std::uint16_t>& pixels) {
  return {.first = reinterpret_cast<const std::byte*>(pixels.data()),
          .stride = kApart * sizeof(std::uint16_t),
          .count = pixels.size() / kApart};
}

Config config(std::uint32_t stack, std::uint32_t stacks, unsigned threads = 2) {
  return {.unit = {.cores = {threads, -1}},
          .pipeline = {{kernel::bragg_count::Config{.threshold = 5, .min_pixels = 2}, kernel::csr::Config{5, 1.0}}},
          .width = kWidth,
          .height = kHeight,
          .stack = stack,
          .stacks = stacks};
}

TEST(Runner, images_are_read_where_they_lie) {
  const auto pixels = images(7);
  Runner runner(config(3, 3));
  runner.run(view(pixels));
  std::size_t i = 0;
  for (const Stack& stack : runner.results()) {
    for (const StackImage& image : stack.view()) {
      EXPECT_EQ(image.index, i);
      EXPECT_EQ(image.frame_number, i);
      EXPECT_EQ(image.scalars[0].count(), i);
      EXPECT_EQ(image.decision, i < 2 ? Decision::vetoed : Decision::accepted);
      if (i >= 2) {
        EXPECT_EQ(image.sparse.count, i);
        EXPECT_EQ(image.pixels, reinterpret_cast<const std::byte*>(pixels.data() + i * kApart));
      }
      ++i;
    }
  }
  EXPECT_EQ(i, 7U);
}

TEST(Runner, a_call_leaves_nothing_of_the_one_before) {
  Runner runner(config(2, 4));
  runner.run(view(images(8)));
  const auto few = images(3);
  runner.run(view(few));
  std::size_t left = 0;
  for (const Stack& stack : runner.results()) left += stack.count;
  EXPECT_EQ(left, 3U);
}

TEST(Runner, more_images_than_there_is_room_for_are_refused) {
  Runner runner(config(2, 2));
  EXPECT_THROW(runner.run(view(images(5))), ConfigError);
}

TEST(Runner, what_is_said_of_an_image_goes_with_it) {
  const auto pixels = images(2);
  const std::uint64_t numbers[] = {70, 90};
  const std::uint32_t flags[] = {0, FrameRecord::dark};
  Images given = view(pixels);
  given.frame_number = numbers;
  given.flags = flags;
  given.first_index = 40;
  Runner runner(config(2, 1));
  runner.run(given);
  EXPECT_EQ(runner.results()[0].images[0].index, 40U);
  EXPECT_EQ(runner.results()[0].images[1].frame_number, 90U);
  EXPECT_EQ(runner.results()[0].images[1].reason, VetoReason::dark);
}

/// Holds each stack until the next one has come.
class Late final : public Taker {
 public:
  explicit Late(std::size_t hold) : hold_(hold) {}
  void take(Stack& stack) noexcept override {
    for (const StackImage& image : stack.view()) counts.push_back(image.scalars[0].count());
    held_.push_back(&stack);
    ++taken_;
  }
  Stack* give_back() noexcept override {
    if (held_.size() < hold_ && taken_ < expected) return nullptr;
    if (held_.empty()) return nullptr;
    Stack* stack = held_.front();
    held_.pop_front();
    return stack;
  }
  std::vector<std::uint64_t> counts;
  std::size_t expected = 0;

 private:
  std::size_t hold_;
  std::size_t taken_ = 0;
  std::deque<Stack*> held_;
};

TEST(Runner, a_taker_gets_any_number_of_images_in_order) {
  constexpr std::size_t kImages = 101;
  const auto pixels = images(kImages);
  Runner runner(config(4, 3));
  Late taker(2);
  taker.expected = (kImages + 3) / 4;
  runner.run(view(pixels), taker);
  ASSERT_EQ(taker.counts.size(), kImages);
  for (std::size_t i = 0; i < kImages; ++i) EXPECT_EQ(taker.counts[i], i);
}

}  // namespace
}  // namespace rashpa::offline
