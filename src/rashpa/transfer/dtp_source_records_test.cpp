// SPDX-License-Identifier: Apache-2.0
/// The bytes and the words that a DTP's source gives its link, and images that it cannot send to their end.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

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
  int polls = 0;
  sender.on_event = [&] {
    if ((sender.records.back().flags & FrameRecord::skipped) != 0 && !told_at) told_at = polls;
  };
  sender.on_poll = [&](bool) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // wait: as a link does
    ++polls;
    if (told_at && polls == *told_at + 10) sender.grant = 5;  // a little later
  };
  DtpSource source(source_config(5), frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  EXPECT_EQ(sender.records.size(), 5U + 1U);
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

}  // namespace
}  // namespace rashpa::transfer
