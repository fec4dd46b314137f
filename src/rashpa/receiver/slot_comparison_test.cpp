// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/slot_comparison.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::receiver {
namespace {

/// A stack of four images of two parts, one above the other.
struct Given {
  explicit Given(std::size_t half) : pixels(4, std::vector<std::byte>(2 * half, std::byte{3})), sums(4) {
    stack.count = 4;
    stack.images.resize(4);
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t part = 0; part < 2; ++part) {
        const auto bytes = std::span(pixels[i]).subspan(part * half, half);
        sums[i].push_back({part * half, half, static_cast<std::uint32_t>(half), 1, crc32c(bytes), true, true});
      }
      stack.images[i].raw = pixels[i].data();
      stack.images[i].sums = sums[i];
      stack.images[i].decision = Decision::accepted;
      stack.images[i].measured = true;
    }
  }
  std::vector<std::vector<std::byte>> pixels;
  std::vector<std::vector<PayloadSum>> sums;
  Stack stack;
};

std::vector<int> found(SlotComparison& comparison, const Stack& stack) {
  const auto changed = comparison.changed(stack);
  return {changed.begin(), changed.end()};
}

TEST(SlotComparison, images_whose_pixels_have_changed_are_found_by_one_thread_and_by_several) {
  for (const std::size_t half : {std::size_t{100}, std::size_t{1} << 20U}) {
    for (const unsigned threads : {1U, 3U}) {
      Given given(half);
      SlotComparison comparison(4, 2, threads);
      EXPECT_EQ(found(comparison, given.stack), (std::vector<int>{0, 0, 0, 0}));
      given.pixels[1][0] = given.pixels[3][2 * half - 1] = std::byte{4};
      EXPECT_EQ(found(comparison, given.stack), (std::vector<int>{0, 1, 0, 1}));
      given.pixels[1][0] = std::byte{3};
      for (int again = 0; again < 100; ++again) {
        ASSERT_EQ(found(comparison, given.stack), (std::vector<int>{0, 0, 0, 1}));
        if (half > 1000 && again > 5) break;
      }
    }
  }
}

TEST(SlotComparison, what_no_unit_has_read_and_what_no_link_has_compared_is_left_alone) {
  Given given(100);
  SlotComparison comparison(4, 2, 1);
  for (auto& image : given.pixels) image[0] = std::byte{4};
  given.stack.images[0].measured = false;  // a sink reads the slot
  given.sums[1][0].compared = false;
  given.stack.images[2].decision = Decision::none;
  given.stack.images[3].decision = Decision::vetoed;
  EXPECT_EQ(found(comparison, given.stack), (std::vector<int>{0, 0, 0, 1}));
  const std::byte made{};
  given.stack.images[0].pixels = &made;
  EXPECT_EQ(found(comparison, given.stack), (std::vector<int>{1, 0, 0, 1})) << "the unit has made pixels of it";
}

TEST(SlotComparison, of_a_shorter_stack_it_says_what_is_there) {
  Given given(100);
  SlotComparison comparison(4, 2, 1);
  given.stack.count = 3;
  EXPECT_EQ(found(comparison, given.stack).size(), 3U);
}

}  // namespace
}  // namespace rashpa::receiver
