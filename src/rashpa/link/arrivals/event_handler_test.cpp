// SPDX-License-Identifier: Apache-2.0
/// The RNIC's part is played by the test: it writes lines and records into memory and reports the immediate.
#include "rashpa/link/arrivals/event_handler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::link {
namespace {

TEST(ExtendIndex, the_nearest_index_with_these_24_bits_is_taken) {
  EXPECT_EQ(extend_index(0x05000007, 5), 7U) << "the top byte is the DTP";
  EXPECT_EQ(extend_index(3, 5), 3U) << "an earlier one";
  EXPECT_EQ(extend_index(0, 0xFFFFFF), 0x1000000U) << "over the end of 24 bits";
  EXPECT_EQ(extend_index(0xFFFFFF, 0x1000000), 0xFFFFFFU) << "and back";
  EXPECT_EQ(extend_index(0xFFFFFF, 0), 0xFFFFFFU) << "never below zero";
  EXPECT_EQ(extend_index(0x000002, 0x7FFFFFFFF000001), 0x7FFFFFFFF000002U);
  EXPECT_EQ(extend_index(0x7FFFFF, 0x3000000), 0x37FFFFFU) << "up to half a round ahead";
  EXPECT_EQ(extend_index(0x800000, 0x3000000), 0x2800000U) << "and from there on behind";
}

struct Emitted final : ArrivalOutput {
  [[nodiscard]] bool ready(std::uint32_t /*dtp*/) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    all.push_back(arrival);
    return true;
  }
  std::vector<Arrival> all;
};

class EventHandlerTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 4;
  static constexpr std::uint32_t kLine = 32;
  static constexpr std::uint32_t kLines = 3;
  static constexpr std::uint64_t kPayload = std::uint64_t{kLine} * kLines;
  static constexpr std::uint64_t kPitch = 48;

  EventHandlerTest() {
    dtp_.id = 9;
    dtp_.images = 100;
    dtp_.run = 77;
    dtp_.placement = {.pixels_offset = 0,
                      .slot_bytes = 256,
                      .slots = kSlots,
                      .first_line_offset = 16,
                      .pitch = kPitch,
                      .line_bytes = kLine,
                      .lines = kLines,
                      .records_offset = 1024};
    open(Verify::all, NotFree::late);
  }
  void open(Verify verify, NotFree not_free) { port_.emplace(dtp_, 3, region_, not_free, verify, counters_); }
  // Does the work of an RNIC: lines, record; returns the immediate.
  std::uint32_t write(std::uint64_t index) {
    std::uint32_t crc = 0;
    for (std::uint32_t line = 0; line < kLines; ++line) {
      std::byte* at = region_.data() + dtp_.placement.image_offset(index) + line * kPitch;
      std::memset(at, static_cast<int>(index * 5 + line + 1), kLine);
      crc = crc32c({at, kLine}, crc);
    }
    FrameRecord record;
    record.dtp = dtp_.id;
    record.frame_number = index;
    record.index = index;
    record.slot = static_cast<std::uint32_t>(index % kSlots);
    record.lines = kLines;
    record.payload_bytes = kPayload;
    record.payload_crc32c = crc;
    record.run = dtp_.run;
    encode(record, std::span<std::byte, FrameRecord::kBytes>(region_.data() + dtp_.placement.record_offset(index),
                                                             FrameRecord::kBytes));
    return immediate_of(dtp_.id, index);
  }
  // Leaves images out up to `index`, `skipped` of them so far.
  std::uint32_t skip(std::uint64_t index, std::uint64_t skipped) {
    FrameRecord record;
    record.dtp = dtp_.id;
    record.flags = FrameRecord::skipped;
    record.frame_number = index;
    record.index = index;
    record.slot = kSlots;
    record.run = dtp_.run;
    record.user[0] = skipped;
    record.user[1] = ++skips_;
    encode(record, std::span<std::byte, FrameRecord::kBytes>(region_.data() + dtp_.placement.skip_offset(),
                                                             FrameRecord::kBytes));
    return immediate_of(dtp_.id, index);
  }
  void event(std::uint32_t immediate) { handler_.event(*port_, immediate, ++now_, out_); }
  void take(std::uint32_t immediate) {
    handler_.announce(*port_, immediate);
    while (handler_.next_event(*port_, ++now_, out_)) {
    }
  }

  std::vector<std::byte> region_ = std::vector<std::byte>(1024 + (kSlots + 1) * FrameRecord::kBytes);
  ReceiverDtp dtp_;
  ReceiverCounters counters_;
  std::optional<EventDtp> port_;
  EventHandler handler_{region_, counters_};
  Emitted out_;
  std::int64_t now_ = 0;
  std::uint64_t skips_ = 0;
};

TEST_F(EventHandlerTest, an_image_whose_checksum_agrees_is_complete_and_proven) {
  event(write(0));
  ASSERT_EQ(out_.all.size(), 1U);
  EXPECT_EQ(out_.all[0].dtp, 3U);
  EXPECT_EQ(out_.all[0].index, 0U);
  EXPECT_EQ(out_.all[0].completeness, Completeness::complete);
  EXPECT_EQ(out_.all[0].proof, Proof::crc);
  EXPECT_EQ(counters_.events.get(), 1U);
  EXPECT_EQ(counters_.payload_bytes.get(), kPayload + FrameRecord::kBytes);
}

TEST_F(EventHandlerTest, a_line_that_did_not_arrive_makes_the_image_partial_and_corrupt) {
  const std::uint32_t immediate = write(0);
  region_[dtp_.placement.image_offset(0) + kPitch] ^= std::byte{1};
  event(immediate);
  ASSERT_EQ(out_.all.size(), 1U);
  EXPECT_EQ(out_.all[0].completeness, Completeness::partial);
  EXPECT_EQ(out_.all[0].loss, Loss::corrupt);
  EXPECT_EQ(out_.all[0].lines_missing, kLines);
  EXPECT_EQ(counters_.crc_mismatches.get(), 1U);
}

TEST_F(EventHandlerTest, without_verification_the_same_image_is_complete_without_proof) {
  open(Verify::off, NotFree::late);
  const std::uint32_t immediate = write(0);
  region_[dtp_.placement.image_offset(0)] ^= std::byte{1};
  event(immediate);
  ASSERT_EQ(out_.all.size(), 1U);
  EXPECT_EQ(out_.all[0].completeness, Completeness::complete);
  EXPECT_EQ(out_.all[0].proof, Proof::none);
}

TEST_F(EventHandlerTest, sampled_verification_proves_one_image_in_sixteen) {
  open(Verify::sampled, NotFree::late);
  for (std::uint64_t index = 0; index < 33; ++index) {
    event(write(index));
    port_->released = index + 1;
  }
  ASSERT_EQ(out_.all.size(), 33U);
  for (const Arrival& arrival : out_.all) {
    EXPECT_EQ(arrival.proof, arrival.index % 16 == 0 ? Proof::crc : Proof::none) << arrival.index;
  }
}

TEST_F(EventHandlerTest, a_lost_event_is_shown_by_later_ones) {
  event(write(0));
  write(1);  // its event is lost
  event(write(2));
  event(write(3));
  ASSERT_EQ(out_.all.size(), 4U);
  EXPECT_EQ(out_.all[1].completeness, Completeness::missing);
  EXPECT_EQ(out_.all[1].loss, Loss::event);
  EXPECT_EQ(out_.all[3].completeness, Completeness::complete);
}

TEST_F(EventHandlerTest, images_that_were_left_out_are_missing_at_once_and_their_bytes_are_not_counted) {
  event(write(0));
  const std::uint64_t image = kPayload + FrameRecord::kBytes;
  event(skip(40, 40));
  ASSERT_EQ(out_.all.size(), 41U);
  EXPECT_EQ(out_.all[40].completeness, Completeness::missing);
  EXPECT_EQ(out_.all[40].loss, Loss::event);
  EXPECT_EQ(port_->received_bytes, image + FrameRecord::kBytes);
  port_->release(41);
  event(write(41));
  ASSERT_EQ(out_.all.size(), 42U);
  EXPECT_EQ(out_.all[41].completeness, Completeness::complete);
  EXPECT_EQ(port_->received_bytes, 2 * image + FrameRecord::kBytes);
  EXPECT_EQ(counters_.bad_records.get(), 0U);
}

TEST_F(EventHandlerTest, a_skip_record_that_a_later_one_has_replaced_says_as_much) {
  const std::uint32_t first = skip(20, 21);
  const std::uint32_t second = skip(60, 61);
  event(first);
  event(second);
  EXPECT_EQ(out_.all.size(), 61U);
  EXPECT_EQ(counters_.bad_records.get(), 0U);
}

TEST_F(EventHandlerTest, a_lock_word_may_name_an_image_that_was_left_out) {
  write(0);
  take(skip(40, 40));  // the word of image 0 was never seen
  ASSERT_EQ(out_.all.size(), 41U);
  EXPECT_EQ(out_.all[40].completeness, Completeness::missing);
  port_->release(41);
  write(41);
  write(42);
  take(skip(50, 48));
  ASSERT_EQ(out_.all.size(), 51U);
  EXPECT_EQ(out_.all[41].completeness, Completeness::complete);
  EXPECT_EQ(out_.all[42].completeness, Completeness::complete);
  EXPECT_EQ(out_.all[43].completeness, Completeness::missing);
  EXPECT_EQ(counters_.bad_records.get(), 0U);
}

TEST_F(EventHandlerTest, a_skip_record_of_another_run_ends_nothing) {
  ++dtp_.run;
  const std::uint32_t immediate = skip(40, 41);
  event(immediate);
  EXPECT_TRUE(out_.all.empty());
  EXPECT_EQ(counters_.bad_records.get(), 1U);
}

TEST_F(EventHandlerTest, a_closed_image_is_missing_by_its_deadline_and_its_late_event_is_counted_once) {
  port_->closed = 1;
  handler_.decide(*port_, ++now_, out_);
  ASSERT_EQ(out_.all.size(), 1U);
  EXPECT_EQ(out_.all[0].loss, Loss::deadline);
  event(write(0));
  EXPECT_EQ(out_.all.size(), 1U);
  EXPECT_EQ(counters_.duplicate_packets.get(), 1U);
}

TEST_F(EventHandlerTest, an_immediate_of_another_dtp_or_image_is_a_bad_record) {
  const std::uint32_t immediate = write(0);
  event(immediate ^ 0x01000000U);  // another DTP
  event(immediate ^ 1U);           // another image: its record slot holds none
  EXPECT_TRUE(out_.all.empty());
  EXPECT_EQ(counters_.bad_records.get(), 2U);
}

TEST_F(EventHandlerTest, there_are_no_images_behind_the_last) {
  dtp_.images = 3;
  open(Verify::all, NotFree::late);
  event(write(3));
  EXPECT_EQ(counters_.bad_records.get(), 1U);
  EXPECT_TRUE(out_.all.empty());
  for (std::uint64_t index : {0U, 1U}) take(write(index));
  handler_.announce(*port_, immediate_of(dtp_.id, 3));
  EXPECT_EQ(counters_.bad_records.get(), 2U);
  EXPECT_FALSE(handler_.next_event(*port_, ++now_, out_));
  take(write(2));
  EXPECT_EQ(out_.all.size(), 3U);
  EXPECT_EQ(counters_.bad_records.get(), 2U);
}

TEST_F(EventHandlerTest, a_record_of_another_run_is_a_bad_record) {
  const std::uint32_t immediate = write(0);
  dtp_.run = 78;
  open(Verify::all, NotFree::late);
  event(immediate);
  EXPECT_TRUE(out_.all.empty());
  EXPECT_EQ(counters_.bad_records.get(), 1U);
}

TEST_F(EventHandlerTest, with_paced_flow_an_event_for_a_taken_slot_is_an_overrun) {
  open(Verify::all, NotFree::overrun);
  for (std::uint64_t index = 0; index < kSlots; ++index) event(write(index));
  event(write(kSlots));  // nothing was released
  EXPECT_EQ(counters_.overrun_packets.get(), 1U);
  event(write(kSlots + 1));
  event(write(kSlots + 2));
  ASSERT_GE(out_.all.size(), kSlots + 1U);
  EXPECT_EQ(out_.all[kSlots].completeness, Completeness::missing);
  EXPECT_EQ(out_.all[kSlots].loss, Loss::overrun);
}

TEST_F(EventHandlerTest, an_image_is_overwritten_once_the_record_of_a_later_one_lies_in_its_place) {
  open(Verify::all, NotFree::overrun);
  for (std::uint64_t index = 0; index < kSlots; ++index) event(write(index));
  for (std::uint64_t index = 0; index < kSlots; ++index) EXPECT_FALSE(port_->overwritten(index)) << index;
  write(kSlots + 1);  // nobody has told of it yet
  for (std::uint64_t index = 0; index < kSlots; ++index) EXPECT_EQ(port_->overwritten(index), index == 1) << index;
  EXPECT_FALSE(port_->overwritten(kSlots + 1));
  EXPECT_FALSE(port_->overwritten(kSlots + 2)) << "an older record says that this image never came";
  region_[dtp_.placement.record_offset(2) + 20] ^= std::byte{0xFF};  // is being written
  EXPECT_TRUE(port_->overwritten(2));
}

TEST_F(EventHandlerTest, an_image_is_overwritten_by_one_beyond_the_grant_too) {
  for (std::uint64_t index = 0; index < kSlots; ++index) event(write(index));
  write(kSlots);
  for (std::uint64_t index = 0; index < kSlots; ++index) EXPECT_EQ(port_->overwritten(index), index == 0) << index;
}

TEST_F(EventHandlerTest, credits_follow_the_release_and_bytes_the_events) {
  EXPECT_EQ(port_->assembly.granted(), kSlots);
  event(write(0));
  port_->released = 1;
  handler_.decide(*port_, ++now_, out_);
  EXPECT_EQ(port_->assembly.granted(), kSlots + 1U);
  EXPECT_EQ(port_->received_bytes, kPayload + FrameRecord::kBytes);
}

// The rest is the lock word of shared memory: it names the latest event.

TEST_F(EventHandlerTest, one_lock_word_announces_all_images_since_the_one_before) {
  write(0);
  write(1);
  handler_.announce(*port_, write(2));
  std::size_t taken = 0;
  while (handler_.next_event(*port_, ++now_, out_)) ++taken;
  EXPECT_EQ(taken, 3U);
  ASSERT_EQ(out_.all.size(), 3U);
  for (const Arrival& arrival : out_.all) EXPECT_EQ(arrival.proof, Proof::crc) << arrival.index;
  handler_.announce(*port_, immediate_of(dtp_.id, 2));
  EXPECT_FALSE(handler_.next_event(*port_, ++now_, out_)) << "the same word says nothing new";
}

TEST_F(EventHandlerTest, images_that_a_source_left_out_are_lost_events_and_no_bad_records) {
  take(write(0));
  port_->released = 1;
  take(write(3));  // 1 and 2 were never written
  port_->released = 4;
  write(4);  // lies where 0 was, but is left out
  for (std::uint64_t index : {5U, 6U, 7U}) write(index);
  port_->released = 8;
  take(write(9));  // 8 was left out: the record of 4 lies in its place
  ASSERT_EQ(out_.all.size(), 10U);
  for (std::uint64_t index : {1U, 2U, 8U}) {
    EXPECT_EQ(out_.all[index].completeness, Completeness::missing) << index;
    EXPECT_EQ(out_.all[index].loss, Loss::event) << index;
  }
  for (std::uint64_t index : {0U, 3U, 9U}) EXPECT_EQ(out_.all[index].completeness, Completeness::complete) << index;
  EXPECT_EQ(counters_.bad_records.get(), 0U);
}

TEST_F(EventHandlerTest, a_source_that_laps_the_receiver_without_credits_makes_overruns) {
  open(Verify::all, NotFree::overrun);
  for (std::uint64_t index = 0; index < 6; ++index) write(index);
  take(immediate_of(dtp_.id, 5));  // 0 and 1 are overwritten by 4 and 5, for which no slot was free
  ASSERT_EQ(out_.all.size(), 6U);
  for (const Arrival& arrival : out_.all) {
    const bool kept = arrival.index == 2 || arrival.index == 3;
    EXPECT_EQ(arrival.completeness, kept ? Completeness::complete : Completeness::missing) << arrival.index;
    EXPECT_EQ(arrival.loss, kept ? Loss::none : Loss::overrun) << arrival.index;
  }
  EXPECT_EQ(counters_.overrun_packets.get(), 4U);
  EXPECT_EQ(counters_.packets.get(), 4U) << "records that were overwritten are not read again";
}

TEST_F(EventHandlerTest, images_without_a_credit_are_not_looked_for) {
  take(skip(50, 51));
  EXPECT_EQ(counters_.packets.get(), 5U) << "four that a slot was granted for, and the latest";
  EXPECT_EQ(counters_.bad_records.get(), 0U);
}

TEST_F(EventHandlerTest, each_event_is_one_packet) {
  event(write(0));
  EXPECT_EQ(counters_.packets.get(), 1U);
  take(write(1));
  EXPECT_EQ(counters_.packets.get(), 3U) << "a lock word stands for two";
}

TEST_F(EventHandlerTest, no_lock_word_makes_more_arrivals_than_there_are_images) {
  std::uint64_t state = 1;
  for (int i = 0; i < 10'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const bool own = (state >> 60) < 8;  // half of them with the right DTP
    handler_.announce(*port_,
                      own ? immediate_of(dtp_.id, (state >> 33) % 128) : static_cast<std::uint32_t>(state >> 32));
    while (handler_.next_event(*port_, ++now_, out_)) {
    }
  }
  EXPECT_LE(out_.all.size(), dtp_.images);
  for (std::uint64_t index = 0; index < out_.all.size(); ++index) EXPECT_EQ(out_.all[index].index, index);
  EXPECT_GT(counters_.bad_records.get(), 0U);
}

}  // namespace
}  // namespace rashpa::link
