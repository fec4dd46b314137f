// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/stack_ring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/dealt.hpp"
#include "rashpa/link/line_map.hpp"
#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

using testing::Bench;

class NoGuard final : public SlotGuard {
 public:
  [[nodiscard]] bool overwritten(const StackImage& /*image*/) const noexcept override { return false; }
};

/// Eight slots in stacks of four, two DTPs, a run of 12.
struct Ringed {
  explicit Ringed(bool compared = true, Slice slice = {3, 1})
      : config(with(Bench::config(12, 2, memory), slice)), ring(config, guard, compared) {}
  static LaneConfig with(LaneConfig config, const Slice& slice) {
    config.slice = slice;
    return config;
  }
  /// Takes an arrival as a lane does; returns it as it counts.
  link::Arrival take(const link::Arrival& come) {
    ring.open_to(come.index, 12);
    const link::Arrival arrival = ring.agrees(come) ? come : ring.refused(come);
    ring.take(arrival.dtp, arrival);
    return arrival;
  }

  std::vector<std::byte> memory = std::vector<std::byte>(8UL * 1024);
  NoGuard guard;
  LaneConfig config;
  StackRing ring;
};

TEST(StackRing, images_are_what_all_their_dtps_say) {
  Ringed r;
  for (std::uint64_t i = 0; i < 4; ++i) {
    r.take(i == 2 ? Bench::lost(0, i, link::Loss::event) : Bench::good(0, i));
    r.take(i >= 2 ? Bench::lost(1, i, link::Loss::overrun) : Bench::good(1, i));
  }
  const Stack& stack = r.ring.close(0, 12);
  ASSERT_EQ(stack.count, 4U);
  EXPECT_EQ(stack.guard, &r.guard);
  EXPECT_EQ(stack.images[1].completeness, Completeness::complete);
  EXPECT_EQ(stack.images[1].frame_number, 4U);
  EXPECT_EQ(stack.images[1].flags, 3U) << "of both";
  EXPECT_EQ(stack.images[1].raw, r.memory.data() + 1024);
  EXPECT_EQ(stack.images[2].completeness, Completeness::missing);
  EXPECT_EQ(stack.images[3].completeness, Completeness::partial);
  ASSERT_EQ(stack.images[2].lost_count, 2U);
  EXPECT_EQ(stack.images[2].lost[0], (LostRun{10, 0, 8})) << "each image has a list of its own";
  EXPECT_EQ(stack.images[2].lost[1], (LostRun{11, 0, 8}));
  ASSERT_EQ(stack.images[3].lost_count, 1U);
  EXPECT_EQ(stack.images[3].lost[0], (LostRun{11, 0, 8}));
  EXPECT_EQ(r.ring.first_loss(2).dtp, 0U);
  EXPECT_EQ(r.ring.first_loss(2).loss, link::Loss::event);
  EXPECT_EQ(r.ring.first_loss(3).dtp, 1U);
  EXPECT_EQ(r.memory, std::vector<std::byte>(8UL * 1024)) << "it touches no pixel";
}

TEST(StackRing, an_image_has_the_time_that_came_first_the_latest_packet_and_the_header_of_its_first_dtp) {
  for (const bool first_is_first : {true, false}) {
    Ringed r;
    std::array<link::Arrival, 2> both{Bench::good(0, 1), Bench::good(1, 1)};
    for (link::Arrival& arrival : both) {
      arrival.record.user[0] = 10 + arrival.dtp;
      arrival.record.timestamp_ns = 100 + arrival.dtp;
      arrival.last_packet_ns = 70 - arrival.dtp;
    }
    if (!first_is_first) std::swap(both[0], both[1]);
    for (const link::Arrival& arrival : both) r.take(arrival);
    const StackImage& image = r.ring.image(1);
    EXPECT_EQ(image.timestamp_ns, both[0].record.timestamp_ns);
    EXPECT_EQ(image.last_packet_ns, 70);
    EXPECT_TRUE(image.has_header);
    EXPECT_EQ(image.header[0], 10U) << "whichever came first";
    EXPECT_FALSE(r.ring.image(0).has_header) << "nothing has come of it";
  }
}

TEST(StackRing, slots_that_are_no_whole_stacks_are_refused_with_a_number_that_works) {
  std::vector<std::byte> memory(8UL * 1024);
  const NoGuard guard;
  const auto refused = [&](std::uint32_t slots, std::uint32_t stack) {
    LaneConfig config = Bench::config(12, 2, memory);
    config.slots = slots;
    config.stack = stack;
    try {
      const StackRing ring(config, guard, true);
      return std::string();
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refused(10, 4), ::testing::HasSubstr("slots = 16"));
  EXPECT_THAT(refused(4, 4), ::testing::HasSubstr("slots = 16"));
  EXPECT_THAT(refused(8, 0), ::testing::HasSubstr("slots = 4"));
  EXPECT_EQ(refused(8, 4), "");
}

TEST(StackRing, lists_the_lines_that_a_map_lacks) {
  Ringed r;
  link::LineMap map(8, 1);
  for (const std::uint32_t line : {0U, 1U, 4U, 5U, 6U}) map.set(line, 1);
  link::Arrival partial = Bench::good(1, 0);
  partial.completeness = Completeness::partial;
  partial.loss = link::Loss::lines;
  partial.map = &map;
  r.take(partial);
  const StackImage& image = r.ring.image(0);
  ASSERT_EQ(image.lost_count, 2U);
  EXPECT_EQ(image.lost[0], (LostRun{11, 2, 2}));
  EXPECT_EQ(image.lost[1], (LostRun{11, 7, 1}));
}

TEST(StackRing, a_stack_is_free_when_the_one_before_it_in_the_ring_was_released) {
  Ringed r;
  EXPECT_TRUE(r.ring.is_free(7));
  EXPECT_FALSE(r.ring.is_free(8));
  EXPECT_EQ(r.ring.granted(), 8U);
  r.ring.release(0);
  EXPECT_TRUE(r.ring.is_free(11));
  EXPECT_FALSE(r.ring.is_free(12));
  EXPECT_EQ(r.ring.granted(), 12U);
}

TEST(StackRing, a_stack_that_is_used_again_remembers_nothing) {
  Ringed r;
  r.take(Bench::lost(0, 1, link::Loss::event));
  Stack& stack = r.ring.close(0, 12);
  stack.images[1].decision = Decision::vetoed;
  r.ring.release(0);
  r.take(Bench::good(0, 9));
  r.take(Bench::good(1, 9));
  const Stack& again = r.ring.close(2, 12);
  EXPECT_EQ(again.number, 2U);
  EXPECT_EQ(again.images[1].index, 9U);
  EXPECT_EQ(again.images[1].completeness, Completeness::complete);
  EXPECT_EQ(again.images[1].decision, Decision::none);
  EXPECT_EQ(again.images[1].lost_count, 0U);
  EXPECT_EQ(r.ring.first_loss(9).loss, link::Loss::none);
  EXPECT_EQ(again.images[1].raw, r.memory.data() + 1024);
}

TEST(StackRing, the_last_stack_is_as_long_as_the_end_says) {
  Ringed r;
  r.take(Bench::good(0, 5));
  EXPECT_EQ(r.ring.of(1).count, 4U) << "as far as was known";
  EXPECT_EQ(r.ring.close(1, 6).count, 2U);
  EXPECT_EQ(r.ring.end_of(1, 6), 6U);
}

TEST(StackRing, checksums_are_worth_comparing_where_sources_write_and_the_link_has_compared_them) {
  for (const bool compared : {true, false}) {
    Ringed r(compared);
    link::Arrival proven = Bench::good(0, 0);
    proven.record.payload_bytes = 512;
    proven.record.payload_crc32c = 7;
    r.take(proven);
    link::Arrival unproven = Bench::good(1, 0);
    unproven.record.payload_bytes = 512;
    unproven.proof = link::Proof::none;
    r.take(unproven);
    const auto sums = r.ring.image(0).sums;
    ASSERT_EQ(sums.size(), 2U);
    EXPECT_TRUE(sums[0].known);
    EXPECT_EQ(sums[0].crc32c, 7U);
    EXPECT_EQ(sums[0].compared, compared);
    EXPECT_FALSE(sums[1].compared);
  }
}

TEST(StackRing, dtps_that_bring_different_frames_have_not_brought_one_image) {
  Ringed r(true, kToldByRecords);
  link::Arrival first = Bench::good(0, 0);
  first.record.frame_number = 70;
  link::Arrival other = Bench::good(1, 0);
  other.record.frame_number = 71;
  EXPECT_EQ(r.take(first).completeness, Completeness::complete);
  const link::Arrival counted = r.take(other);
  EXPECT_EQ(counted.completeness, Completeness::missing);
  EXPECT_EQ(counted.loss, link::Loss::corrupt);
  EXPECT_EQ(r.ring.image(0).frame_number, 70U);
}

TEST(StackRing, refuses_slots_that_hold_no_two_stacks) {
  std::vector<std::byte> memory(8192);
  const NoGuard guard;
  for (const std::uint32_t slots : {4U, 6U, 0U}) {
    LaneConfig config = Bench::config(10, 1, memory);
    config.slots = slots;
    EXPECT_THROW(StackRing(config, guard, true), ConfigError) << slots;
  }
  LaneConfig nobody = Bench::config(10, 0, memory);
  EXPECT_THROW(StackRing(nobody, guard, true), ConfigError);
}

}  // namespace
}  // namespace rashpa::scheduler
