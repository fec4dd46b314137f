// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/sending/message_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace rashpa::link::stream2 {
namespace {

constexpr std::byte kMap{0xA0};
constexpr std::uint64_t kImages = 400;

/// A message of an image: a map's first byte, and the number of the image.
std::vector<std::byte> message_of(std::uint64_t image) {
  return {kMap, static_cast<std::byte>(image), static_cast<std::byte>(image >> 8U)};
}
std::uint64_t image_of(std::span<const std::byte> message) {
  return std::to_integer<std::uint64_t>(message[1]) | std::to_integer<std::uint64_t>(message[2]) << 8U;
}

/// The messages that leave of all images, and of an end behind them, whose number is kImages.
std::vector<std::vector<std::byte>> leaving(MessageQueue& queue) {
  std::vector<std::vector<std::byte>> left;
  const auto drain = [&] {
    for (; !queue.front().empty(); queue.pop()) left.emplace_back(queue.front().begin(), queue.front().end());
  };
  for (std::uint64_t image = 0; image < kImages; ++image) {
    queue.add_image(image, message_of(image));
    drain();
  }
  queue.add(message_of(kImages), true);
  drain();
  return left;
}

std::map<std::uint64_t, int> times_of(const std::vector<std::vector<std::byte>>& left) {
  std::map<std::uint64_t, int> times;
  for (const auto& message : left) ++times[image_of(message)];
  return times;
}

TEST(MessageQueue, without_faults_messages_leave_as_they_came) {
  MessageQueue queue(std::nullopt, 0, kImages);
  const auto left = leaving(queue);
  ASSERT_EQ(left.size(), kImages + 1);
  for (std::uint64_t image = 0; image <= kImages; ++image) EXPECT_EQ(left[image], message_of(image));
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.images(), 0U) << "nothing has a fate that must be known";
}

TEST(MessageQueue, a_dropped_image_never_leaves_and_is_missing) {
  MessageQueue queue(FaultConfig{.seed = 3, .drop = 0.5}, 1, kImages);
  const auto times = times_of(leaving(queue));
  std::uint64_t gone = 0;
  for (std::uint64_t image = 0; image < kImages; ++image) {
    const bool dropped = !times.contains(image);
    gone += dropped ? 1 : 0;
    EXPECT_EQ(queue.fate(image), dropped ? Completeness::missing : Completeness::complete) << image;
  }
  EXPECT_EQ(queue.counts().drop, gone);
  EXPECT_GT(gone, kImages / 4);
  EXPECT_LT(gone, kImages * 3 / 4);
  EXPECT_TRUE(times.contains(kImages)) << "no fault happens to other messages";
}

TEST(MessageQueue, a_doubled_image_leaves_twice_in_a_row) {
  MessageQueue queue(FaultConfig{.seed = 3, .duplicate = 1}, 1, kImages);
  const auto left = leaving(queue);
  ASSERT_EQ(left.size(), 2 * kImages + 1);
  for (std::uint64_t image = 0; image < kImages; ++image) {
    EXPECT_EQ(left[2 * image], message_of(image));
    EXPECT_EQ(left[2 * image + 1], message_of(image));
    EXPECT_EQ(queue.fate(image), Completeness::complete);
  }
  EXPECT_EQ(queue.counts().duplicate, kImages);
}

TEST(MessageQueue, a_late_image_lets_one_or_two_pass_and_never_the_end) {
  MessageQueue queue(FaultConfig{.seed = 5, .reorder = 0.2}, 1, kImages);
  const auto left = leaving(queue);
  ASSERT_EQ(left.size(), kImages + 1);
  EXPECT_EQ(image_of(left.back()), kImages);
  std::uint64_t late = 0;
  for (std::size_t i = 0; i + 1 < left.size(); ++i) {
    const std::uint64_t image = image_of(left[i]);
    const auto overtaking = std::count_if(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(i),
                                          [&](const auto& one) { return image_of(one) > image; });
    EXPECT_LE(overtaking, 4) << "two, and those that had waited for these";
    late += overtaking > 0 ? 1 : 0;
    EXPECT_EQ(queue.fate(image), Completeness::complete);
  }
  EXPECT_GT(late, 0U);
  EXPECT_LE(late, queue.counts().reorder);
}

TEST(MessageQueue, when_all_are_late_they_leave_with_the_end_in_their_order) {
  MessageQueue queue(FaultConfig{.seed = 5, .reorder = 1}, 1, kImages);
  const auto left = leaving(queue);
  ASSERT_EQ(left.size(), kImages + 1);
  for (std::uint64_t image = 0; image <= kImages; ++image) EXPECT_EQ(image_of(left[image]), image);
}

TEST(MessageQueue, a_damaged_image_is_no_map_any_more_and_missing) {
  MessageQueue queue(FaultConfig{.seed = 3, .corrupt = 1}, 1, kImages);
  const auto left = leaving(queue);
  ASSERT_EQ(left.size(), kImages + 1);
  for (std::uint64_t image = 0; image < kImages; ++image) {
    EXPECT_NE(left[image][0], kMap);
    EXPECT_EQ(queue.fate(image), Completeness::missing);
  }
  EXPECT_EQ(left.back(), message_of(kImages));
  EXPECT_EQ(queue.counts().corrupt, kImages);
}

TEST(MessageQueue, the_same_seed_hits_the_same_images_and_another_dtp_others) {
  const FaultConfig faults{.seed = 8, .drop = 0.2, .duplicate = 0.2, .reorder = 0.2, .corrupt = 0.2};
  MessageQueue one(faults, 1, kImages), again(faults, 1, kImages), other(faults, 2, kImages);
  const auto left = leaving(one);
  EXPECT_EQ(left, leaving(again));
  EXPECT_NE(left, leaving(other));
}

}  // namespace
}  // namespace rashpa::link::stream2
