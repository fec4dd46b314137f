// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/card_faults.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"

namespace rashpa::emulator {
namespace {

using card::registers::FaultKind;

constexpr std::uint32_t kWidth = 64, kHeight = 8, kLineBytes = kWidth * 2;
constexpr std::uint64_t kImages = 200;
constexpr std::uint64_t kPackets = kHeight + 1;  // a line each, and the event

transfer::Dtp dtp(std::uint64_t images = kImages, std::uint32_t id = 3) {
  return {.id = id,
          .region = {0, 0, kWidth, kHeight},
          .images = images,
          .placement = {.pixels_offset = 0,
                        .slot_bytes = 4096,
                        .slots = 4,
                        .first_line_offset = 0,
                        .pitch = 2 * kLineBytes,  // lines apart: a write each
                        .line_bytes = kLineBytes,
                        .lines = kHeight,
                        .records_offset = 65'536}};
}

/// The probabilities of a plan, each with a default.
struct Faults {
  std::uint64_t seed = 0;
  double drop = 0, duplicate = 0, reorder = 0, corrupt = 0, stall = 0;
};
FaultPlan plan(const Faults& faults) {
  FaultPlan made;
  made.seed = faults.seed;
  made.drop = faults.drop;
  made.duplicate = faults.duplicate;
  made.reorder = faults.reorder;
  made.corrupt = faults.corrupt;
  made.stall = faults.stall;
  return made;
}

CardPacketShape shape(std::uint32_t first_psn = 0) {
  return {.packets = {.pmtu = 256, .largest_message = 4096}, .pitch_bytes = kLineBytes, .first_psn = first_psn};
}

TEST(CardFaults, without_faults_of_packets_nothing_is_drawn) {
  const CardFaults none = draw_card_faults(plan({.stall = 1}), dtp(), shape());
  EXPECT_TRUE(none.all.empty());
  EXPECT_TRUE(none.fates.empty()) << "all complete";
}

TEST(CardFaults, a_dropped_packet_makes_its_image_partial_or_missing_when_it_was_the_event) {
  const CardFaults found = draw_card_faults(plan({.seed = 5, .drop = 0.05}), dtp(), shape(100));
  ASSERT_FALSE(found.all.empty());
  std::map<std::uint64_t, Completeness> wanted;
  for (const CardFault& fault : found.all) {
    EXPECT_EQ(fault.kind, FaultKind::drop);
    const std::uint64_t packet = fault.psn - 100;
    ASSERT_EQ(fault.image, packet / kPackets) << "the PSN names the packet";
    if (packet % kPackets == kHeight) {
      wanted[fault.image] = Completeness::missing;
    } else {
      wanted.try_emplace(fault.image, Completeness::partial);
    }
  }
  ASSERT_EQ(found.fates.size(), kImages);
  for (std::uint64_t image = 0; image < kImages; ++image) {
    const auto one = wanted.find(image);
    EXPECT_EQ(found.fates[image], one == wanted.end() ? Completeness::complete : one->second) << image;
  }
  const auto is = [&](Completeness fate) { return std::ranges::count(found.fates, fate) > 0; };
  EXPECT_TRUE(is(Completeness::complete) && is(Completeness::partial) && is(Completeness::missing));
}

TEST(CardFaults, a_flipped_bit_lies_in_the_payload_and_without_icrc_the_image_comes_with_it) {
  constexpr std::uint32_t kHeaders = 14 + 20 + 8 + 12 + 16;  // Ethernet, IPv4, UDP, BTH, RETH
  CardPacketShape unchecked = shape();
  unchecked.icrc_checked = false;
  for (const CardPacketShape& packets : {shape(), unchecked}) {
    const CardFaults found = draw_card_faults(plan({.seed = 9, .corrupt = 0.02}), dtp(), packets);
    ASSERT_FALSE(found.all.empty());
    std::set<std::uint64_t> hit;
    for (const CardFault& fault : found.all) {
      EXPECT_EQ(fault.kind, FaultKind::flip);
      EXPECT_GE(fault.bit, 8 * kHeaders);
      const std::uint32_t most = fault.psn % kPackets == kHeight ? FrameRecord::kBytes + 4 : kLineBytes;
      EXPECT_LT(fault.bit, 8 * (kHeaders + most)) << "an event has an immediate, too";
      hit.insert(fault.image);
    }
    for (std::uint64_t image = 0; image < kImages; ++image) {
      EXPECT_EQ(found.fates[image] == Completeness::complete, !hit.contains(image)) << image;
    }
  }
}

TEST(CardFaults, the_same_seed_hits_the_same_packets_of_a_dtp_and_others_of_another) {
  const FaultPlan faults = plan({.seed = 4, .drop = 0.05, .corrupt = 0.05});
  const auto psns = [&](std::uint32_t id) {
    std::vector<std::uint32_t> all;
    for (const CardFault& fault : draw_card_faults(faults, dtp(kImages, id), shape()).all) all.push_back(fault.psn);
    return all;
  };
  EXPECT_EQ(psns(3), psns(3));
  EXPECT_NE(psns(3), psns(4));
}

TEST(CardFaults, sequence_numbers_go_on_from_zero_behind_the_largest) {
  constexpr std::uint32_t kLargest = 0xFF'FFFF;
  const CardFaults found = draw_card_faults(plan({.seed = 1, .drop = 1}), dtp(2), shape(kLargest - 3));
  ASSERT_EQ(found.all.size(), 2 * kPackets);
  EXPECT_EQ(found.all[3].psn, kLargest);
  EXPECT_EQ(found.all[4].psn, 0U);
}

TEST(CardFaults, what_a_card_cannot_make_is_refused) {
  EXPECT_THROW(draw_card_faults(plan({.duplicate = 0.1}), dtp(), shape()), ConfigError);
  EXPECT_THROW(draw_card_faults(plan({.reorder = 0.1}), dtp(), shape()), ConfigError);
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 24U) / kPackets;
  EXPECT_THROW(draw_card_faults(plan({.drop = 1e-6}), dtp(kMost + 1), shape()), ConfigError)
      << "a PSN would come twice";
}

}  // namespace
}  // namespace rashpa::emulator
