// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/views/first_images.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace rashpa::receiver {
namespace {

constexpr ImageForm kArriving{.width = 2, .height = 2, .pixel = PixelType::u32};

sink::Output output() { return {.buffer = "full", .width = 3, .height = 1, .pixel = PixelType::u16}; }

std::vector<std::byte> bytes_of(const auto& values) {
  std::vector<std::byte> bytes(sizeof(values));
  std::memcpy(bytes.data(), &values, sizeof(values));
  return bytes;
}

/// Images as units hand them on: accepted ones have pixels, all have their slot.
class Stacked {
 public:
  Stacked& add(std::uint64_t index, Decision decision, VetoReason reason = VetoReason::none,
               Completeness completeness = Completeness::complete) {
    StackImage image;
    image.index = index;
    image.decision = decision;
    image.reason = reason;
    image.completeness = completeness;
    image.raw = reinterpret_cast<std::byte*>(raw_.data());
    if (decision == Decision::accepted) image.pixels = reinterpret_cast<const std::byte*>(made_.data());
    stack.images.push_back(image);
    ++stack.count;
    return *this;
  }
  Stack stack;
  std::array<std::uint32_t, 4> raw_{1, 2, 3, 4};
  std::array<std::uint16_t, 3> made_{7, 8, 9};
};

constexpr VetoReason kTooFew = VetoReason::too_few;

TEST(FirstImages, the_first_vetoed_image_is_kept_as_it_lies_in_its_slot) {
  FirstImages firsts(output(), kArriving, 4);
  EXPECT_EQ(firsts.first(FirstOf::vetoed), nullptr);
  Stacked stacked;
  stacked.add(0, Decision::accepted).add(1, Decision::vetoed, kTooFew).add(2, Decision::vetoed, kTooFew);
  firsts.offer(stacked.stack);
  const auto found = firsts.first(FirstOf::vetoed);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->index, 1U);
  EXPECT_EQ(found->reason, kTooFew);
  EXPECT_TRUE(found->arriving);
  EXPECT_EQ(std::pair(found->form.width, found->form.height), std::pair(2U, 2U));
  EXPECT_EQ(found->pixels, bytes_of(stacked.raw_));
  Stacked later;
  later.raw_.fill(0);
  firsts.offer(later.add(3, Decision::vetoed, kTooFew).stack);
  EXPECT_EQ(firsts.first(FirstOf::vetoed)->index, 1U);
  EXPECT_EQ(found->pixels, bytes_of(stacked.raw_));
}

TEST(FirstImages, an_image_that_only_a_device_sees_has_no_picture_unless_something_was_made_of_it) {
  FirstImages firsts(output(), kArriving, 4);
  Stacked stacked;
  stacked.add(0, Decision::vetoed, kTooFew).add(1, Decision::accepted, VetoReason::none, Completeness::partial);
  for (StackImage& image : stacked.stack.images) image.raw = nullptr;
  firsts.offer(stacked.stack);
  EXPECT_EQ(firsts.first(FirstOf::vetoed), nullptr);
  ASSERT_NE(firsts.first(FirstOf::partial), nullptr);
  EXPECT_EQ(firsts.first(FirstOf::partial)->pixels, bytes_of(stacked.made_));
}

TEST(FirstImages, darks_and_partial_images_are_no_vetoed_ones) {
  FirstImages firsts(output(), kArriving, 4);
  Stacked stacked;
  stacked.add(0, Decision::vetoed, VetoReason::dark)
      .add(1, Decision::vetoed, VetoReason::partial, Completeness::partial);
  firsts.offer(stacked.stack);
  EXPECT_EQ(firsts.first(FirstOf::vetoed), nullptr);
  ASSERT_NE(firsts.first(FirstOf::partial), nullptr);
  EXPECT_TRUE(firsts.first(FirstOf::partial)->arriving);
}

TEST(FirstImages, a_partial_image_that_was_accepted_is_what_the_pipeline_made_with_what_it_lost) {
  FirstImages firsts(output(), kArriving, 4);
  Stacked stacked;
  stacked.add(5, Decision::accepted, VetoReason::none, Completeness::partial);
  std::array<LostRun, 1> lost{LostRun{.dtp = 3, .first_line = 1, .lines = 1}};
  stacked.stack.images[0].lost = lost.data();
  stacked.stack.images[0].lost_count = 1;
  firsts.offer(stacked.stack);
  const auto found = firsts.first(FirstOf::partial);
  ASSERT_NE(found, nullptr);
  EXPECT_FALSE(found->arriving);
  EXPECT_EQ(found->pixels, bytes_of(stacked.made_));
  EXPECT_EQ(found->lost, std::vector<LostRun>(lost.begin(), lost.end()));
}

TEST(FirstImages, one_that_was_written_over_meanwhile_is_not_shown_but_the_next_is) {
  struct Overwritten final : SlotGuard {
    [[nodiscard]] bool overwritten(const StackImage& image) const noexcept override { return image.index == 0; }
  } guard;
  FirstImages firsts(output(), kArriving, 4);
  Stacked first, second;
  first.stack.guard = second.stack.guard = &guard;
  firsts.offer(first.add(0, Decision::vetoed, kTooFew).stack);
  EXPECT_EQ(firsts.first(FirstOf::vetoed), nullptr);
  firsts.offer(second.add(1, Decision::vetoed, kTooFew).stack);
  ASSERT_NE(firsts.first(FirstOf::vetoed), nullptr);
  EXPECT_EQ(firsts.first(FirstOf::vetoed)->index, 1U);
}

}  // namespace
}  // namespace rashpa::receiver
