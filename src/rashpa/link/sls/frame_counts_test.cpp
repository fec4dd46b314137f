// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/frame_counts.hpp"

#include <gtest/gtest.h>

namespace rashpa::link::sls {
namespace {

constexpr std::uint32_t kPackets = 64;

/// Frame of each of a frame's packets: the last one's.
std::optional<std::uint64_t> whole(PortCount& port, std::uint64_t number, std::uint32_t packets = kPackets) {
  std::optional<std::uint64_t> frame;
  for (std::uint32_t i = 0; i < packets; ++i) frame = port.frame(number);
  return frame;
}

TEST(SlsFrameCounts, frame_0_is_the_lowest_number_that_any_port_begins_with) {
  FrameCounts counts(0, 3);
  EXPECT_FALSE(counts.begun());
  counts.settle(1);
  EXPECT_FALSE(counts.begun()) << "nobody has sent anything";
  counts.offer(0, 1001, 10);
  counts.offer(2, 1000, 11);
  counts.settle(20);
  EXPECT_FALSE(counts.begun()) << "one port is silent";
  counts.offer(1, 1002, 12);
  counts.settle(21);
  ASSERT_TRUE(counts.begun());
  PortCount port(counts, kPackets);
  EXPECT_EQ(port.frame(1001), 1U);
}

TEST(SlsFrameCounts, a_silent_port_is_not_waited_for_for_ever) {
  FrameCounts counts(0, 2);
  counts.offer(0, 7, 10);
  counts.settle(11);
  EXPECT_FALSE(counts.begun());
  counts.settle(10 + FrameCounts::kPatienceNs);
  EXPECT_TRUE(counts.begun());
}

TEST(SlsFrameCounts, numbers_of_48_bits_wrap) {
  constexpr std::uint64_t kLast = (1ULL << 48) - 1;
  FrameCounts counts(kLast - 1, 1);
  PortCount port(counts, kPackets);
  EXPECT_EQ(port.frame(kLast - 1), 0U);
  EXPECT_EQ(port.frame(kLast), 1U);
  EXPECT_EQ(port.frame(0), 2U);
  EXPECT_EQ(port.frame(1), 3U);
  EXPECT_EQ(port.frame((1ULL << 48) + 2), 4U) << "and go on in 64 bits with models that have them";
}

TEST(SlsFrameCounts, what_was_sent_before_the_run_is_of_no_frame) {
  FrameCounts counts(100, 1);
  PortCount port(counts, kPackets);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(port.frame(5 + i / 100));
  EXPECT_EQ(port.frame(100), 0U);
}

TEST(SlsFrameCounts, stragglers_keep_their_frame) {
  FrameCounts counts(1, 1);
  PortCount port(counts, kPackets);
  EXPECT_EQ(whole(port, 50), 49U);
  EXPECT_EQ(port.frame(3), 2U);
  EXPECT_EQ(port.frame(51), 50U);
  EXPECT_EQ(port.falls(), 0U);
}

TEST(SlsFrameCounts, one_wrong_number_far_ahead_ends_nothing) {
  FrameCounts counts(1, 1);
  PortCount port(counts, kPackets);
  EXPECT_EQ(port.frame(10), 9U);
  EXPECT_FALSE(port.frame(5'000'000));
  EXPECT_FALSE(port.frame(77'000'000));
  EXPECT_EQ(port.frame(11), 10U);
}

TEST(SlsFrameCounts, a_jump_is_believed_when_packets_agree) {
  FrameCounts counts(1, 1);
  PortCount port(counts, kPackets);
  EXPECT_EQ(port.frame(10), 9U);
  EXPECT_EQ(whole(port, 1'000'001), 1'000'000U);
  EXPECT_EQ(port.frame(1'000'002), 1'000'001U);
}

TEST(SlsFrameCounts, after_a_fall_frames_go_on_behind_all_that_were_seen) {
  FrameCounts counts(1000, 2);
  PortCount one(counts, kPackets);
  PortCount other(counts, kPackets);
  for (std::uint64_t number = 1000; number < 1100; ++number) {
    EXPECT_EQ(whole(one, number), number - 1000);
    if (number < 1098) {  // this one lags
      EXPECT_EQ(whole(other, number), number - 1000);
    }
  }
  EXPECT_EQ(whole(one, 1), 100U) << "with the last packet of a frame it is proven";
  EXPECT_EQ(whole(one, 2), 101U);
  EXPECT_EQ(whole(other, 1098), 98U) << "the other still ends the old numbers";
  EXPECT_EQ(whole(other, 1099), 99U);
  EXPECT_EQ(other.frame(1), 100U) << "and believes at once";
  EXPECT_EQ(other.frame(2), 101U);
  EXPECT_FALSE(other.frame(1099)) << "a straggler of the old numbers is none of the new";
  EXPECT_EQ(other.frame(3), 102U);
  EXPECT_EQ(one.falls(), 1U);
  EXPECT_EQ(other.falls(), 1U);
}

TEST(SlsFrameCounts, a_port_that_lags_behind_others_has_not_fallen) {
  FrameCounts counts(1, 2);
  PortCount one(counts, kPackets);
  PortCount other(counts, kPackets);
  for (std::uint64_t number = 1; number < 500; ++number) whole(one, number);
  for (std::uint64_t number = 1; number < 500; ++number) EXPECT_EQ(whole(other, number), number - 1);
  EXPECT_EQ(other.falls(), 0U);
}

}  // namespace
}  // namespace rashpa::link::sls
