// SPDX-License-Identifier: Apache-2.0
/// The bytes and the words that a DTP's source gives its link, and images that it cannot send to their end.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/transfer/dtp_source.hpp"
#include "rashpa/transfer/testing/dtp_source_testing.hpp"

namespace rashpa::transfer {
namespace {

constexpr std::uint64_t kTai = 1'700'000'000'000'000'000;

TEST(DtpSourceRecords, say_all_that_a_destination_must_know_of_an_image) {
  Frames frames;
  CopySender sender(8192);
  DtpSourceConfig all = source_config(6);
  all.dtp.slice = {1, 0};
  DtpSource source(all, frames, sender);
  const std::int64_t start = now_ns();
  source.run(std::stop_token{}, start, kTai);
  const auto lasted = static_cast<std::uint64_t>(now_ns() - start);
  ASSERT_EQ(sender.records.size(), 6U);
  std::vector<std::uint32_t> flags;
  for (const FrameRecord& record : sender.records) {
    flags.push_back(record.flags);
    EXPECT_EQ(record.dtp, 3U);
    EXPECT_EQ(record.run, 9U);
    EXPECT_EQ(record.lines, kHeight);
    EXPECT_EQ(record.payload_bytes, kWidth * kHeight * 2);
    EXPECT_GE(record.timestamp_ns, kTai);
    EXPECT_LE(record.timestamp_ns, kTai + lasted);
  }
  EXPECT_EQ(flags,
            (std::vector<std::uint32_t>{FrameRecord::dark, 0, 0, 0, FrameRecord::dark, FrameRecord::last_of_run}));
  EXPECT_EQ(sender.writes, 6U * kHeight) << "a line each, and nothing else";
  EXPECT_EQ(sender.pending(), 0U) << "all has left";
  EXPECT_EQ(source.stats().late_ns, 0) << "no frame is due at any time";
}

/// Frames of more lines than are made at a time, all different.
class TallFrames final : public FrameSource {
 public:
  static constexpr std::uint32_t kLines = 40;
  explicit TallFrames(std::uint64_t different) : different_(different), pixels_(std::size_t{kWidth} * kLines) {
    std::uint16_t value = 0;
    for (std::uint16_t& pixel : pixels_) pixel = value++;
  }
  [[nodiscard]] const std::byte* frame(std::uint64_t) const noexcept override { return bytes().data(); }
  [[nodiscard]] std::uint64_t frames() const noexcept override { return different_; }
  [[nodiscard]] std::uint32_t flags(std::uint64_t) const noexcept override { return 0; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return std::as_bytes(std::span(pixels_)); }

 private:
  std::uint64_t different_;
  std::vector<std::uint16_t> pixels_;
};

TEST(DtpSourceRecords, the_checksum_is_of_all_lines_and_of_each_once) {
  for (const std::uint64_t different : {0U, 1U}) {
    const TallFrames frames(different);
    CopySender sender(32768);
    DtpSourceConfig tall = source_config(2);
    tall.dtp.region.height = tall.dtp.placement.lines = TallFrames::kLines;
    tall.dtp.placement.slot_bytes = 4096;
    tall.dtp.placement.records_offset = 16384;
    DtpSource source(tall, frames, sender);
    source.run(std::stop_token{}, now_ns(), 0);
    ASSERT_EQ(sender.records.size(), 2U);
    for (const FrameRecord& record : sender.records) EXPECT_EQ(record.payload_crc32c, crc32c(frames.bytes()));
    EXPECT_EQ(sender.writes, 2U * TallFrames::kLines);
  }
}

TEST(DtpSourceRecords, all_writes_are_done_when_the_source_is) {
  Frames frames;
  CopySender sender(8192);
  sender.at_a_time = 1;
  DtpSource source(source_config(3), frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  EXPECT_TRUE(source.done());
  EXPECT_EQ(sender.pending(), 0U);
}

TEST(DtpSourceRecords, of_skipped_images_have_the_time_at_which_they_are_told) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 2;
  DtpSourceConfig skipping = source_config(5);
  skipping.on_full = OnFull::skip;
  DtpSource source(skipping, frames, sender);
  const std::int64_t start = now_ns();
  source.run(std::stop_token{}, start, kTai);
  const auto lasted = static_cast<std::uint64_t>(now_ns() - start);
  EXPECT_EQ(sender.records.size(), 2U + 3U) << "each of three is told";
  for (const FrameRecord& record : sender.records) {
    EXPECT_GE(record.timestamp_ns, kTai);
    EXPECT_LE(record.timestamp_ns, kTai + lasted);
  }
}

/// Copies as its base does, and is told of the images.
class AwareSender final : public CopySender, public link::ImageAware {
 public:
  using CopySender::CopySender;
  void begin(std::uint64_t index) override {
    begun.push_back(index);
    written_before.push_back(writes);
  }
  std::vector<std::uint64_t> begun;
  std::vector<std::size_t> written_before;
};

TEST(DtpSourceRecords, a_link_that_wants_to_know_is_told_of_an_image_before_its_first_line) {
  Frames frames;
  AwareSender sender(8192);
  DtpSource source(source_config(3), frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  EXPECT_EQ(sender.begun, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(sender.written_before, (std::vector<std::size_t>{0, kHeight, 2 * kHeight}));
}

/// A source that is stopped in an image that its link does not take to its end.
void stop_within_an_image(CopySender& sender) {
  Frames frames;
  std::stop_source stop;
  int polls = 0;
  sender.on_poll = [&](bool) {
    if (++polls == 3) stop.request_stop();
  };
  DtpSource source(source_config(5), frames, sender);
  source.run(stop.get_token(), now_ns(), 0);
  EXPECT_TRUE(source.done());
  EXPECT_EQ(source.stats().images_sent, 0U);
  EXPECT_EQ(source.sent(0), Completeness::open);
  EXPECT_TRUE(sender.records.empty());
}

TEST(DtpSourceStop, an_image_of_which_lines_were_not_taken_is_not_announced) {
  CopySender sender(8192);
  sender.room = 0;
  stop_within_an_image(sender);
  EXPECT_EQ(sender.writes, 0U);
}

TEST(DtpSourceStop, an_image_whose_record_was_not_taken_is_not_sent) {
  CopySender sender(8192);
  sender.takes_events = false;
  stop_within_an_image(sender);
  EXPECT_EQ(sender.writes, kHeight);
}

TEST(DtpSourceStop, what_was_given_to_the_link_leaves_before_a_stall) {
  Frames frames;
  CopySender sender(8192);
  DtpSourceConfig stalled = source_config(7);
  stalled.faults.stall = 1.0;
  stalled.faults.stall_us = 600'000'000;  // ten minutes
  DtpSource source(stalled, frames, sender);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  EXPECT_EVENTUALLY(sender.polls >= 1);
  EXPECT_EQ(source.stats().stalls, 1U);
}

TEST(DtpSourceStop, an_end_at_the_frame_where_it_is_held_is_the_end) {
  Frames frames;
  CopySender sender(8192);
  DtpSource source(source_config(100), frames, sender);
  source.hold(6);  // of 1, 3, 5, 7, …
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  ASSERT_EVENTUALLY(source.stats().images_sent >= 3);
  source.end_at(6);
  source.hold(kNoHold);
  thread.join();
  EXPECT_TRUE(source.done());
  EXPECT_EQ(source.stats().images_due(), 3U);
}

TEST(DtpSourcePace, that_was_changed_behind_a_trigger_holds_and_a_trigger_behind_it_too) {
  constexpr std::int64_t kHourNs = 3'600'000'000'000;
  Frames frames;
  CopySender sender(8192);
  TriggerGate gate;
  DtpSourceConfig triggered = source_config(100);
  triggered.dtp.slice = {1, 0};
  triggered.gate = &gate;
  triggered.rate_hz = 1e6;
  DtpSource source(triggered, frames, sender);
  source.hold(2);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  gate.open(4, now_ns() - kHourNs);  // all four are due by it
  ASSERT_EVENTUALLY(source.stats().images_sent >= 2);
  source.set_pace({.rate_hz = 1e6, .frame = 2, .start_ns = now_ns() + kHourNs});
  source.hold(kNoHold);
  const int polls = sender.polls.load();
  ASSERT_EVENTUALLY(sender.polls >= polls + 20);
  EXPECT_EQ(source.stats().images_sent, 2U) << "they are due by the pace now";
  source.hold(2);
  source.set_pace({.rate_hz = 1e6, .frame = 2, .start_ns = now_ns() - kHourNs});
  source.hold(kNoHold);
  ASSERT_EVENTUALLY(source.stats().images_sent >= 4);
  source.hold(4);
  source.set_pace({.rate_hz = 1e6, .frame = 4, .start_ns = now_ns() + kHourNs});
  source.hold(kNoHold);
  gate.open(2, now_ns() - kHourNs);  // from the frame of the pace on
  ASSERT_EVENTUALLY(source.stats().images_sent >= 6);
}

/// A link that needs a while for each look, as real ones do. `told`: of images that were sent.
void look_slowly(CopySender& sender, int& polls) {
  sender.on_poll = [&polls](bool) {
    ++polls;
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // wait: as a link does
  };
}

TEST(DtpSourceStarved, says_once_a_second_what_it_has_sent) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 2;
  std::optional<int> told_at;
  std::int64_t told_ns = 0;
  int polls = 0;
  sender.on_event = [&] {
    if ((sender.records.back().flags & FrameRecord::skipped) == 0 || told_at) return;
    told_at = polls;
    told_ns = now_ns();
  };
  sender.on_poll = [&](bool) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // wait: as a link does
    ++polls;
    if (told_at && polls == *told_at + 10) sender.grant = 5;  // a little later
  };
  DtpSource source(source_config(5), frames, sender);
  const std::int64_t start = now_ns();
  source.run(std::stop_token{}, start, 0);
  EXPECT_EQ(sender.records.size(), 5U + 1U);
  EXPECT_GE(told_ns - start, 1'000'000'000);
  EXPECT_EQ(source.stats().images_sent, 5U);
}

TEST(DtpSourceStarved, that_has_sent_nothing_says_nothing) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 0;
  int polls = 0;
  look_slowly(sender, polls);
  DtpSource source(source_config(5), frames, sender);
  const std::int64_t start = now_ns();
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  EXPECT_EVENTUALLY(now_ns() - start > 1'200'000'000);  // longer than it is patient
  thread.request_stop();
  thread.join();
  EXPECT_TRUE(sender.records.empty());
}

TEST(DtpSourceStarved, of_dealt_images_that_were_all_given_back_says_nothing) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 4;
  sender.on_event = [&] { sender.grant = 4 + sender.records.size(); };
  Dealer dealer({.name = "farm",
                 .slice = {2, 1},
                 .images = 10,
                 .members = {{.name = "a", .slots = 4}, {.name = "b", .slots = 4}}});
  dealer.begin(now_ns());
  dealer.eject(1, 0);
  dealer.feed(0, true);
  DtpSourceConfig paced = source_config(10);
  paced.rate_hz = 1e6;
  DtpSource source(paced, frames, sender, &dealer.port(0, 0));
  const std::int64_t start = now_ns();
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, start, kTai); });
  std::jthread dealing([&](const std::stop_token& stop) { dealer.run(stop, start); });
  ASSERT_EVENTUALLY(source.stats().images_sent == 10);
  const std::int64_t quiet = now_ns();
  EXPECT_EVENTUALLY(now_ns() - quiet > 1'200'000'000);  // longer than it is patient
  dealing = {};
  thread = {};
  ASSERT_EQ(sender.records.size(), 10U) << "nothing but the images";
  for (std::uint64_t index = 0; index < 10; ++index) {
    EXPECT_EQ(sender.records[index].timestamp_ns, kTai + 1000 * (2 * index + 1)) << "when it was due";
  }
}

}  // namespace
}  // namespace rashpa::transfer
