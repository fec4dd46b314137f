// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/dtp_source.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/transfer/testing/dtp_source_testing.hpp"

namespace rashpa::transfer {
namespace {

TEST(DtpSource, each_image_is_followed_by_its_record_and_immediate) {
  Frames frames;
  CopySender sender(8192);
  DtpSource source(source_config(7), frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  ASSERT_EQ(sender.records.size(), 7U);
  for (std::uint64_t k = 0; k < 7; ++k) {
    const FrameRecord& record = sender.records[k];
    EXPECT_EQ(record.index, k);
    EXPECT_EQ(record.frame_number, 2 * k + 1);
    EXPECT_EQ(record.slot, k % 4);
    EXPECT_EQ(record.run, 9U);
    EXPECT_EQ(record.payload_crc32c, crc32c({frames.frame(2 * k + 1), kWidth * kHeight * 2}));
    EXPECT_EQ((record.flags & FrameRecord::last_of_run) != 0, k == 6);
    EXPECT_EQ(sender.immediates[k], immediate_of(3, k));
    EXPECT_EQ(source.sent(k), Completeness::complete);
  }
  EXPECT_EQ(std::memcmp(sender.memory.data() + 2 * 1024, frames.frame(13), 512), 0) << "slot 2 holds image 6, frame 13";
  EXPECT_TRUE(source.done());
}

TEST(DtpSource, frames_that_come_again_are_read_once_for_their_checksum) {
  Frames frames(true);
  CopySender sender(8192);
  DtpSource source(source_config(20), frames, sender);  // frames 1, 3, … 39, of which 8 are different
  EXPECT_EQ(frames.reads, 8U) << "before the run begins";
  source.run(std::stop_token{}, now_ns(), 0);
  EXPECT_EQ(frames.reads, 8U + 20U) << "and once to be sent";
  ASSERT_EQ(sender.records.size(), 20U);
  for (std::uint64_t k = 0; k < 20; ++k) {
    EXPECT_EQ(sender.records[k].payload_crc32c, crc32c({frames.frame(2 * k + 1), kWidth * kHeight * 2})) << k;
  }
  const std::uint64_t before = frames.reads;
  DtpSource few(source_config(3), frames, sender);
  EXPECT_EQ(frames.reads, before + 3) << "no more than there are images";
}

/// Copies as its base does; a checksum of the copied bytes is there when it is asked for the second time.
class ChecksummingSender final : public CopySender, public link::Checksumming {
 public:
  ChecksummingSender(std::size_t bytes, bool makes) : CopySender(bytes), makes_(makes) {}
  [[nodiscard]] bool makes_payload_crc32c() const noexcept override { return makes_; }
  [[nodiscard]] std::optional<std::uint32_t> payload_crc32c() const noexcept override {
    if (never || ++asked_ % 2 == 1) return std::nullopt;
    return 0xABCD;
  }
  bool never = false;

 private:
  bool makes_;
  mutable int asked_ = 0;
};

TEST(DtpSource, a_link_that_makes_the_checksum_on_its_way_is_asked_until_it_has_it) {
  Frames frames(true);
  ChecksummingSender sender(8192, true);
  DtpSource source(source_config(3), frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  EXPECT_EQ(frames.reads, 3U) << "nobody else reads it";
  ASSERT_EQ(sender.records.size(), 3U);
  for (const FrameRecord& record : sender.records) EXPECT_EQ(record.payload_crc32c, 0xABCDU);
  ChecksummingSender plain(8192, false);
  DtpSource other(source_config(3), frames, plain);
  other.run(std::stop_token{}, now_ns(), 0);
  for (std::uint64_t k = 0; k < 3; ++k) {
    EXPECT_EQ(plain.records[k].payload_crc32c, crc32c({frames.frame(2 * k + 1), kWidth * kHeight * 2})) << k;
  }
}

TEST(DtpSource, never_sends_an_image_that_is_not_granted) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 2;
  sender.on_event = [&] { EXPECT_LE(sender.records.size(), sender.grant.load()); };
  DtpSource source(source_config(5), frames, sender);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  const int polls = sender.polls.load();
  ASSERT_EVENTUALLY(sender.polls >= polls + 50);  // it asks again and again
  EXPECT_EQ(source.stats().images_sent, 2U);
  sender.grant = 5;
  thread.join();
  EXPECT_EQ(source.stats().images_sent, 5U);
}

TEST(DtpSource, paused_it_says_what_is_begun_and_goes_on_to_the_end_that_it_is_told) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 3;
  DtpSource source(source_config(1'000'000), frames, sender);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  ASSERT_EVENTUALLY(source.stats().images_sent >= 3);
  ASSERT_EVENTUALLY(source.begun() >= 8);  // the fourth waits for its slot: frame 7 of 1, 3, 5, 7
  source.hold(0);
  EXPECT_EQ(source.begun(), 8U);
  sender.grant = 100;
  source.end_at(12);  // frames 1 … 11
  source.hold(kNoHold);
  thread.join();
  EXPECT_TRUE(source.done());
  EXPECT_EQ(source.stats().images_due(), 6U);
  ASSERT_EQ(sender.records.size(), 6U);
  EXPECT_EQ(sender.records.back().frame_number, 11U);
  EXPECT_NE(sender.records.back().flags & FrameRecord::last_of_run, 0U);
}

TEST(DtpSource, nothing_is_begun_while_it_is_paused_however_fast_it_goes) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = ~0ULL;
  DtpSource source(source_config(1ULL << 30), frames, sender);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t sent = source.stats().images_sent;
    ASSERT_EVENTUALLY(source.stats().images_sent >= sent + 10);
    source.hold(0);
    const std::uint64_t begun = source.begun();
    ASSERT_EVENTUALLY(source.stats().images_sent * 2 >= begun - 2);  // begun images are sent
    const int polls = sender.polls.load();
    ASSERT_EVENTUALLY(sender.polls >= polls + 3);
    EXPECT_LE(source.stats().images_sent * 2, begun);
    source.hold(kNoHold);
  }
}

TEST(DtpSource, it_sends_what_lies_before_the_frame_at_which_it_is_held_and_nothing_behind) {
  Frames frames;
  CopySender sender(8192);
  DtpSource source(source_config(9), frames, sender);
  source.hold(8);  // of 1, 3, 5, 7, 9, …
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  ASSERT_EVENTUALLY(source.stats().images_sent >= 4);
  const int polls = sender.polls.load();
  ASSERT_EVENTUALLY(sender.polls >= polls + 20);
  EXPECT_EQ(source.stats().images_due(), 4U);
  EXPECT_EQ(source.begun(), 8U);
  source.hold(kNoHold);
  thread.join();
  EXPECT_EQ(source.stats().images_sent, 9U);
}

TEST(DtpSource, it_goes_on_at_the_pace_that_it_is_given_and_sends_nothing_at_the_old_one) {
  constexpr std::int64_t kStartNs = 1'000'000'000;  // of a clock that began long ago
  Frames frames;
  CopySender sender(8192);
  DtpSourceConfig fast = source_config(9);
  fast.rate_hz = 1e6;
  DtpSource source(fast, frames, sender);
  source.hold(6);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, kStartNs, 5); });
  ASSERT_EVENTUALLY(source.stats().images_sent >= 3);
  // frame 7 is due at once, 9 in years
  source.set_pace({.rate_hz = 1e-8, .frame = 7, .start_ns = kStartNs + 8'000});
  source.hold(kNoHold);
  ASSERT_EVENTUALLY(source.stats().images_sent >= 4);
  const int polls = sender.polls.load();
  ASSERT_EVENTUALLY(sender.polls >= polls + 5);
  EXPECT_EQ(source.stats().images_sent, 4U);
  source.set_pace({.rate_hz = 1e6, .frame = 9, .start_ns = kStartNs + 9'000});  // seen while it waits
  thread.join();
  ASSERT_EQ(sender.records.size(), 9U);
  EXPECT_EQ(sender.records[2].timestamp_ns, 5U + 5'000U);
  EXPECT_EQ(sender.records[3].timestamp_ns, 5U + 8'000U);
  EXPECT_EQ(sender.records[5].timestamp_ns, 5U + 9'000U + 2'000U);
}

TEST(DtpSource, a_pace_holds_for_frames_of_triggers_too) {
  Frames frames;
  CopySender sender(8192);
  TriggerGate gate;
  DtpSourceConfig triggered = source_config(100);
  triggered.gate = &gate;
  triggered.rate_hz = 1e-3;
  DtpSource source(triggered, frames, sender);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  gate.open(2, now_ns() - 1'000'000'000'000);
  ASSERT_EVENTUALLY(source.stats().images_sent >= 1);
  source.hold(2);
  source.set_pace({.rate_hz = 1e6, .frame = 2, .start_ns = now_ns()});
  source.hold(kNoHold);
  gate.open(4, now_ns());
  ASSERT_EVENTUALLY(source.stats().images_sent >= 3);  // in microseconds, not in hours
}

TEST(DtpSource, only_frames_that_were_triggered_are_sent_and_at_the_end_all_that_are_due) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = ~0ULL;
  TriggerGate gate;
  DtpSourceConfig triggered = source_config(100);
  triggered.gate = &gate;
  triggered.rate_hz = 1e6;
  DtpSource source(triggered, frames, sender);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  ASSERT_EVENTUALLY(sender.polls >= 20);  // it looks again and again
  EXPECT_EQ(source.stats().images_due(), 0U);
  gate.open(6, now_ns());  // frames 0 … 5, of which 1, 3, 5 are its own
  ASSERT_EVENTUALLY(source.stats().images_due() >= 3);
  gate.open(1, now_ns());  // frame 6 is not
  const int polls = sender.polls.load();
  ASSERT_EVENTUALLY(sender.polls >= polls + 20);
  EXPECT_EQ(source.stats().images_due(), 3U);
  source.hold(0);
  EXPECT_EQ(source.begun(), 6U);
  source.end_at(10);  // another emulator has begun frame 9
  source.hold(kNoHold);
  thread.join();
  EXPECT_EQ(source.stats().images_due(), 5U);
  ASSERT_EQ(sender.records.size(), 5U);
  EXPECT_EQ(sender.records.back().frame_number, 9U);
}

// As the roce link does: a sender with work does not read the answers.
TEST(DtpSource, hears_what_is_said_of_dealt_images_while_it_sends) {
  constexpr std::uint64_t kSlots = 64;
  Dealer dealer({.name = "farm",
                 .slice = {2, 1},
                 .images = 60,
                 .members = {{.name = "a", .slots = kSlots}, {.name = "b", .slots = kSlots}}});
  dealer.begin(now_ns());
  dealer.feed(1, false);
  Frames frames;
  CopySender sender(8192);
  sender.grant = kSlots;
  std::stop_source stop;
  std::uint64_t done = 0;
  sender.on_poll = [&](bool idle) {
    if (idle) sender.grant = kSlots + sender.records.size();
    dealer.step(now_ns());
  };
  sender.on_event = [&] {
    if (sender.records.size() == 20) done = dealer.status().members[0].done;
    if (sender.records.size() == 30) stop.request_stop();
  };
  DtpSourceConfig stalled = source_config(60);
  stalled.faults.stall = 1.0;
  stalled.faults.stall_us = 2000;
  DtpSource source(stalled, frames, sender, &dealer.port(0, 0));
  source.run(stop.get_token(), now_ns(), 0);
  EXPECT_EQ(sender.records.size(), 30U);
  EXPECT_GE(done, 15U);
}

TEST(DtpSource, skips_without_credit_when_told_to_and_counts_it) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 2;
  DtpSourceConfig skipping = source_config(5);
  skipping.on_full = OnFull::skip;
  DtpSource source(skipping, frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  EXPECT_EQ(source.stats().images_sent, 2U);
  EXPECT_EQ(source.stats().images_skipped, 3U);
  EXPECT_EQ(source.sent(1), Completeness::complete);
  EXPECT_EQ(source.sent(2), Completeness::missing);
}

TEST(DtpSource, an_image_is_not_skipped_when_a_last_look_finds_its_slot) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 2;
  sender.on_poll = [&](bool) {
    if (sender.records.size() == 2) sender.grant = 5;
  };
  DtpSourceConfig skipping = source_config(5);
  skipping.on_full = OnFull::skip;
  DtpSource source(skipping, frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  EXPECT_EQ(source.stats().images_sent, 5U);
  EXPECT_EQ(source.stats().images_skipped, 0U);
}

TEST(DtpSource, an_image_whose_checksum_does_not_come_is_not_sent) {
  Frames frames;
  ChecksummingSender sender(8192, true);
  std::stop_source stop;
  sender.never = true;
  sender.on_poll = [&](bool idle) {
    if (idle) stop.request_stop();
  };
  DtpSource source(source_config(5), frames, sender);
  source.run(stop.get_token(), now_ns(), 0);
  EXPECT_TRUE(source.done());
  EXPECT_EQ(source.stats().images_sent, 0U);
  EXPECT_EQ(source.sent(0), Completeness::open);
  EXPECT_TRUE(sender.records.empty());
}

TEST(DtpSource, tells_a_destination_that_grants_nothing_which_images_it_has_sent) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 2;
  // All that was sent is lost: nothing else makes the destination grant again.
  sender.on_event = [&] {
    const FrameRecord& record = sender.records.back();
    if ((record.flags & FrameRecord::skipped) != 0) sender.grant = record.index + 3;
  };
  sender.on_poll = [](bool) { std::this_thread::sleep_for(std::chrono::microseconds(200)); };  // wait: as a link does
  DtpSource source(source_config(5), frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  std::vector<std::uint64_t> told;
  for (const FrameRecord& record : sender.records) {
    if ((record.flags & FrameRecord::skipped) != 0) told.push_back(record.index);
  }
  EXPECT_EQ(told, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(source.stats().images_sent, 5U);
  EXPECT_EQ(source.stats().images_skipped, 0U);
}

TEST(DtpSource, tells_the_destination_which_images_it_has_skipped) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 2;
  DtpSourceConfig skipping = source_config(5);
  skipping.on_full = OnFull::skip;
  DtpSource source(skipping, frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  ASSERT_GE(sender.records.size(), 3U);
  const FrameRecord& last = sender.records.back();
  EXPECT_EQ(last.flags, FrameRecord::skipped);
  EXPECT_EQ(last.index, 4U);
  EXPECT_EQ(last.dtp, 3U);
  EXPECT_EQ(last.run, 9U);
  EXPECT_EQ(last.frame_number, 9U);
  EXPECT_EQ(last.slot, skipping.dtp.placement.slots);
  EXPECT_EQ(last.lines, 0U);
  EXPECT_EQ(last.user[0], 3U) << "skipped so far";
  EXPECT_EQ(last.user[1], sender.records.size() - 2) << "told so often";
  EXPECT_EQ(sender.immediates.back(), immediate_of(skipping.dtp.id, 4));
  EXPECT_EQ(sender.destinations.back(), skipping.dtp.placement.skip_offset());
}

TEST(DtpSource, a_dead_module_sends_nothing_from_its_frame_on) {
  Frames frames;
  CopySender sender(8192);
  DtpSourceConfig dying = source_config(6);
  dying.faults.dead_from = 7;  // frames 1 3 5 are sent, 7 9 11 are not
  DtpSource source(dying, frames, sender);
  source.run(std::stop_token{}, now_ns(), 0);
  EXPECT_EQ(sender.records.size(), 3U);
  EXPECT_EQ(source.stats().images_dead, 3U);
  EXPECT_EQ(source.sent(3), Completeness::missing);
}

TEST(DtpSource, an_injected_stall_ends_when_the_run_does) {
  Frames frames;
  CopySender sender(8192);
  DtpSourceConfig stalled = source_config(7);
  stalled.faults.stall = 1.0;
  stalled.faults.stall_us = 600'000'000;  // ten minutes
  DtpSource source(stalled, frames, sender);
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  EXPECT_EVENTUALLY(source.stats().stalls == 1);
  const std::int64_t before = now_ns();
  thread.request_stop();
  thread.join();
  EXPECT_LT(now_ns() - before, 30'000'000'000);
}

TEST(DtpSource, keeps_the_rate_and_stops_when_asked) {
  Frames frames;
  CopySender sender(8192);
  DtpSourceConfig slow = source_config(10);
  slow.rate_hz = 1000;
  DtpSource source(slow, frames, sender);
  const auto start = now_ns();
  source.run(std::stop_token{}, start, 1'000'000);
  EXPECT_GE(now_ns() - start, 19'000'000) << "frame 19 is due 19 ms after frame 0";
  EXPECT_EQ(sender.records[9].timestamp_ns, 1'000'000U + 19'000'000U);

  CopySender blocked(8192);
  blocked.grant = 0;
  DtpSource stopped(source_config(10), frames, blocked);
  std::stop_source stop;
  stop.request_stop();
  stopped.run(stop.get_token(), now_ns(), 0);
  EXPECT_EQ(stopped.stats().images_sent, 0U);
}

TEST(DtpSource, says_how_late_the_latest_frame_was) {
  Frames frames;
  CopySender sender(8192);
  DtpSourceConfig paced = source_config(10);
  paced.rate_hz = 1000;
  DtpSource source(paced, frames, sender);
  const std::int64_t before = now_ns();
  source.run(std::stop_token{}, before - 1'000'000'000, 0);
  EXPECT_GE(source.stats().late_ns, 999'000'000) << "frame 1 was due 999 ms before; later ones are less late";
  EXPECT_LE(source.stats().late_ns, 999'000'000 + now_ns() - before);
}

/// Two members with two images; each may be silent for so long.
DealerConfig small_farm(std::int64_t response_ns, std::uint32_t dtps = 1) {
  DealerConfig group;
  group.name = "farm";
  group.images = 2;
  group.slice = {2, 1};
  group.replay_frames = 10;
  group.response_ns = group.first_response_ns = response_ns;
  for (const char* name : {"a", "b"}) group.members.push_back({.name = name, .slots = 4, .stack = 2, .dtps = dtps});
  return group;
}

TEST(DtpSource, an_image_that_is_dealt_again_has_a_number_behind_all_images) {
  Frames frames(true);
  CopySender sender(8192);
  sender.grant = 4;
  Dealer dealer(small_farm(60'000'000'000, 2));
  dealer.begin(now_ns());
  dealer.eject(1, 0);
  Dealer::Port& other = dealer.port(0, 1);
  other.report(4, 0, {}, now_ns());
  DtpSource source(source_config(2), frames, sender, &dealer.port(0, 0));
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  std::jthread dealing([&](const std::stop_token& stop) { dealer.run(stop, now_ns()); });
  ASSERT_EVENTUALLY(source.stats().images_sent == 2);
  other.report(6, 0, {}, now_ns());  // the receiver waits no more for the parts of the other DTP
  ASSERT_EVENTUALLY(source.stats().images_sent == 4);
  EXPECT_FALSE(dealer.failed()) << dealer.status().error;
  for (std::uint64_t index = 0; index < 4; ++index) ASSERT_TRUE(other.frame(index));
  other.report(8, 4, {}, now_ns());
  sender.grant = 8;
  ASSERT_EVENTUALLY(dealer.settled());
  dealing = {};
  thread = {};
  ASSERT_EQ(sender.records.size(), 4U);
  for (std::uint64_t index = 0; index < 4; ++index) {
    EXPECT_EQ(source.sent(index), Completeness::complete);
    EXPECT_EQ(sender.records[index].index, index);
    const std::uint64_t frame = 1 + 2 * (index % 2);
    EXPECT_EQ(sender.records[index].frame_number, frame);
    EXPECT_EQ(sender.records[index].payload_crc32c, crc32c({frames.frame(frame), kWidth * kHeight * 2}));
  }
  EXPECT_EQ(source.sent(4), Completeness::open);
}

// All that was sent is lost, and nothing more is sent to a late member: it would never say a word.
TEST(DtpSource, tells_a_late_member_which_images_it_was_sent) {
  Frames frames;
  CopySender sender(8192);
  sender.grant = 4;
  const std::int64_t start = now_ns();
  std::atomic<std::int64_t> told_ns{0};
  sender.on_event = [&] {
    const FrameRecord& record = sender.records.back();
    if ((record.flags & FrameRecord::skipped) == 0) return;
    told_ns = now_ns();
    sender.grant = record.index + 1 + 4;
  };
  Dealer dealer(small_farm(10'000'000));
  dealer.begin(now_ns());
  dealer.eject(1, 0);
  DtpSource source(source_config(2), frames, sender, &dealer.port(0, 0));
  std::jthread thread([&](const std::stop_token& stop) { source.run(stop, now_ns(), 0); });
  std::jthread dealing([&](const std::stop_token& stop) { dealer.run(stop, now_ns()); });
  ASSERT_EVENTUALLY(dealer.status().members[0].lates > 0);
  ASSERT_EVENTUALLY(dealer.settled());
  EXPECT_FALSE(dealer.failed()) << dealer.status().error;
  dealing = {};
  thread = {};
  EXPECT_GE(told_ns - start, 1'000'000'000) << "others may only be slow";
  const FrameRecord& told = sender.records.at(2);
  EXPECT_EQ(told.flags, FrameRecord::skipped);
  EXPECT_EQ(told.index, 1U);
  EXPECT_EQ(told.frame_number, 3U);
}

}  // namespace
}  // namespace rashpa::transfer
