// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/frame_feed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace rashpa::emulator {
namespace {

/// A card that remembers what it is given.
struct Recorded final : FrameOutlet {
  explicit Recorded(std::size_t modules = 1, std::size_t dtps = 2) : put_frames(modules), available(dtps) {}
  void put(std::size_t module, std::uint64_t frame, std::optional<std::int64_t> at_ns) override {
    put_frames[module].push_back(frame);
    times.push_back(at_ns);
  }
  void make_available(std::size_t dtp, std::uint64_t frames) override {
    available[dtp] = frames;
    ++doorbells;
  }
  std::vector<std::vector<std::uint64_t>> put_frames;
  std::vector<std::uint64_t> available;
  std::vector<std::optional<std::int64_t>> times;
  int doorbells = 0;
};

/// One module of two DTPs, a ring of 4 frames, a run of 10.
FeedConfig config(double rate_hz = 0, bool skips = false) {
  return {.frames = 10,
          .rate_hz = rate_hz,
          .skips = skips,
          .dtps = {{.module = 0, .slice = {1, 0}, .images = 10}, {.module = 0, .slice = {1, 0}, .images = 10}},
          .rings = {4}};
}

using Frames = std::vector<std::uint64_t>;
constexpr std::uint64_t kNoHold = transfer::kNoHold;

TEST(FrameFeed, fills_the_ring_and_refills_behind_what_all_dtps_have_read) {
  FrameFeed feed(config());
  Recorded card;
  feed.feed(7, kNoHold, card);
  EXPECT_EQ(card.put_frames[0], (Frames{0, 1, 2, 3}));
  EXPECT_FALSE(card.times[0]) << "without a rate, when it is put";
  EXPECT_EQ(card.available, (Frames{4, 4}));
  feed.note_done(0, 3);
  feed.note_done(1, 1);
  feed.feed(8, kNoHold, card);
  EXPECT_EQ(card.put_frames[0].size(), 5U) << "the slower one has read one";
  const int rung = card.doorbells;
  feed.feed(9, kNoHold, card);
  EXPECT_EQ(card.doorbells, rung) << "nothing new";
}

TEST(FrameFeed, gives_frames_when_they_are_due) {
  FrameFeed feed(config(1000));
  feed.start(5'000'000);
  EXPECT_EQ(feed.frames_due(4'999'999), 0U);
  EXPECT_EQ(feed.frames_due(5'000'000), 1U);
  EXPECT_EQ(feed.frames_due(7'999'999), 3U);
  EXPECT_EQ(feed.frames_due(1'000'000'000), 10U) << "no more than the run has";
  Recorded card;
  feed.feed(6'500'000, kNoHold, card);
  EXPECT_EQ(card.put_frames[0], (Frames{0, 1}));
  EXPECT_EQ(card.times, (std::vector<std::optional<std::int64_t>>{5'000'000, 6'000'000}))
      << "the time at which each is due";
  EXPECT_EQ(card.available, (Frames{2, 2}));
}

TEST(FrameFeed, skipping_gives_one_frame_at_a_time) {
  FrameFeed feed(config(0, true));
  Recorded card;
  feed.feed(1, kNoHold, card);
  EXPECT_EQ(card.available, (Frames{1, 1}));
  feed.note_done(1, 2);
  feed.feed(2, kNoHold, card);
  EXPECT_EQ(card.available, (Frames{1, 3}));
}

TEST(FrameFeed, frames_that_no_dtp_takes_are_not_put) {
  FeedConfig sliced = config();
  sliced.dtps = {{.module = 0, .slice = {3, 1}, .images = 3}, {.module = 0, .slice = {3, 2}, .images = 3}};
  FrameFeed feed(sliced);
  Recorded card;
  feed.feed(1, kNoHold, card);
  EXPECT_EQ(card.put_frames[0], (Frames{1, 2, 4})) << "the ring counts from the oldest that is needed";
}

TEST(FrameFeed, a_pause_lets_all_dtps_follow_to_the_foremost_and_no_further) {
  FeedConfig two = config();
  two.dtps[1].module = 1;
  two.rings = {8, 2};
  FrameFeed feed(two);
  Recorded card(2);
  feed.feed(1, kNoHold, card);
  EXPECT_EQ(card.available, (Frames{8, 2}));
  feed.note_done(0, 8);
  feed.feed(2, 0, card);
  EXPECT_EQ(card.available, (Frames{8, 2})) << "held behind the eight that one has";
  for (std::uint64_t done = 2; done < 12; done += 2) {
    feed.note_done(1, std::min<std::uint64_t>(done, 8));
    feed.feed(3, 0, card);
  }
  EXPECT_EQ(card.available, (Frames{8, 8}));
  feed.feed(4, kNoHold, card);
  EXPECT_EQ(card.available, (Frames{10, 10}));
}

TEST(FrameFeed, a_pause_ahead_holds_from_there_on) {
  FrameFeed feed(config());
  Recorded card;
  feed.feed(1, 2, card);
  EXPECT_EQ(card.available, (Frames{2, 2}));
}

TEST(FrameFeed, a_dtp_that_is_through_is_waited_for_by_nobody) {
  FeedConfig uneven = config();
  uneven.dtps[0].images = 2;
  FrameFeed feed(uneven);
  Recorded card;
  feed.feed(1, kNoHold, card);
  feed.note_done(0, 2);
  feed.note_done(1, 4);
  feed.feed(2, kNoHold, card);
  EXPECT_EQ(card.put_frames[0].size(), 8U);
  EXPECT_EQ(card.available, (Frames{4, 8}));
  feed.note_done(1, 10);
  feed.feed(3, kNoHold, card);
  EXPECT_EQ(card.put_frames[0].size(), 8U) << "all are through";
}

TEST(FrameFeed, puts_so_many_at_once_and_no_more) {
  FeedConfig large = config();
  large.frames = large.dtps[0].images = large.dtps[1].images = large.rings[0] = 1000;
  FrameFeed feed(large);
  Recorded card;
  feed.feed(1, kNoHold, card);
  EXPECT_EQ(card.put_frames[0].size(), FrameFeed::kAtOnce);
}

}  // namespace
}  // namespace rashpa::emulator
