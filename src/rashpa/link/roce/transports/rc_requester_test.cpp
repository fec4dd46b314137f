// SPDX-License-Identifier: Apache-2.0
/// The requester without sockets: the packets to send after each answer.
#include "rashpa/link/roce/transports/rc_requester.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace rashpa::link::roce {
namespace {

constexpr std::int64_t kTimeoutNs = 4096 << 4;
constexpr std::uint8_t kNak = 0x60;

class Requester : public ::testing::Test {
 protected:
  void make(std::uint32_t first_psn, RcTimers timers = {.timeout = 4, .retries = 3, .rnr_retries = 7}) {
    requester_ = std::make_unique<RcRequester>(first_psn, timers, RcRequester::Peer{});
  }
  /// Pushes `count` writes of one packet each and sends them.
  void write(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      Outgoing packet;
      packet.bytes = 100;
      requester_->push(packet, Ends::write);
    }
    drain();
  }
  /// Sends what is due; its sequence numbers.
  std::vector<std::uint32_t> drain() {
    std::vector<std::uint32_t> sent;
    while (true) {
      const auto next = requester_->next(now_);
      if (next.packet == nullptr) break;
      sent.push_back(next.packet->psn);
      again_ = next.again;
      asks_ = next.packet->ack_request;
      requester_->handed_over();
    }
    requester_->batch_empty();
    return sent;
  }
  void ack(std::uint32_t psn) { requester_->take({psn, 0x1F, 0}, now_); }
  void answer(std::uint32_t psn, std::uint8_t syndrome) { requester_->take({psn, syndrome, 0}, now_); }
  std::size_t done() {
    return requester_->release([this](std::uint64_t image) { images_.push_back(image); });
  }
  /// Lets the clock run and looks at it on the way.
  void pass(std::int64_t ns) {
    requester_->tick(now_);
    now_ += ns;
    requester_->tick(now_);
  }
  using Psns = std::vector<std::uint32_t>;

  std::unique_ptr<RcRequester> requester_;
  std::int64_t now_ = 1'000'000;
  bool again_ = false;
  bool asks_ = false;
  std::vector<std::uint64_t> images_;
};

TEST_F(Requester, writes_are_done_when_they_are_acknowledged_and_not_before) {
  make(10);
  write(3);
  EXPECT_EQ(done(), 0U);
  EXPECT_EQ(requester_->unacknowledged(), 3U);
  EXPECT_EQ(requester_->unacknowledged_bytes(), 300U);
  ack(11);
  EXPECT_EQ(done(), 2U) << "one acknowledgement serves all before it";
  EXPECT_EQ(requester_->unacknowledged_bytes(), 100U);
  ack(11);
  ack(10);
  EXPECT_EQ(done(), 0U) << "stale ones say nothing";
  ack(12);
  EXPECT_EQ(done(), 1U);
  EXPECT_EQ(requester_->unacknowledged(), 0U);
}

TEST_F(Requester, memory_stays_taken_while_a_packet_of_it_is_in_the_batch) {
  make(10);
  write(2);
  answer(10, kNak);
  ASSERT_NE(requester_->next(now_).packet, nullptr);
  requester_->handed_over();  // 10 again, into a batch that is not sent yet
  ack(11);                    // the first transmission had arrived after all
  EXPECT_EQ(done(), 0U);
  requester_->batch_empty();
  EXPECT_EQ(done(), 2U);
}

TEST_F(Requester, a_sequence_error_sends_everything_from_there_again_and_asks_for_an_answer) {
  make(10);
  write(5);
  answer(12, kNak);
  EXPECT_EQ(done(), 2U) << "a NAK acknowledges what is before it";
  EXPECT_EQ(drain(), (Psns{12, 13, 14}));
  EXPECT_TRUE(again_);
  EXPECT_TRUE(asks_);
  EXPECT_EQ(requester_->counts().retransmitted.get(), 3U);
  ack(14);
  EXPECT_EQ(done(), 3U);
}

TEST_F(Requester, what_was_acknowledged_meanwhile_is_not_sent_again) {
  make(10);
  write(5);
  answer(11, kNak);
  ASSERT_EQ(requester_->next(now_).packet->psn, 11U);
  requester_->handed_over();
  ack(13);
  EXPECT_EQ(drain(), (Psns{14}));
}

TEST_F(Requester, sequence_numbers_wrap) {
  make(0xFFFFFE);
  write(4);
  EXPECT_EQ(requester_->next_psn(), 2U);
  ack(0xFFFFFF);
  EXPECT_EQ(done(), 2U);
  answer(0, kNak);
  EXPECT_EQ(drain(), (Psns{0, 1}));
  ack(1);
  EXPECT_EQ(done(), 2U);
}

TEST_F(Requester, answers_to_what_was_never_sent_change_nothing) {
  make(10);
  write(3);
  ack(13);
  ack(13 + (1U << 22));
  ack(9);
  answer(13, kNak);
  answer(500, 0x62);
  answer(11, 0x40);  // reserved
  EXPECT_EQ(done(), 0U);
  EXPECT_FALSE(requester_->in_error());
  EXPECT_EQ(drain(), (Psns{}));
}

TEST_F(Requester, silence_sends_everything_again_and_each_time_waits_twice_as_long) {
  make(10);
  write(2);
  pass(kTimeoutNs - 1);
  EXPECT_EQ(drain(), (Psns{}));
  pass(1);
  EXPECT_EQ(drain(), (Psns{10, 11}));
  pass(2 * kTimeoutNs - 1);
  EXPECT_EQ(drain(), (Psns{}));
  pass(1);
  EXPECT_EQ(drain(), (Psns{10, 11}));
  EXPECT_EQ(requester_->counts().timeouts.get(), 2U);
  ack(10);
  requester_->tick(now_);
  pass(kTimeoutNs);
  EXPECT_EQ(drain(), (Psns{11})) << "progress starts the count and the wait anew";
}

TEST_F(Requester, nothing_unacknowledged_never_times_out) {
  make(10);
  write(1);
  ack(10);
  pass(1000 * kTimeoutNs);
  EXPECT_EQ(requester_->counts().timeouts.get(), 0U);
}

TEST_F(Requester, after_the_retry_limit_the_connection_is_in_error_and_all_memory_is_free) {
  make(10);
  write(3);
  std::int64_t spent = 0;
  for (int i = 0; i < 100 && !requester_->in_error(); ++i) {
    pass(kTimeoutNs);
    spent += kTimeoutNs;
    drain();
  }
  ASSERT_TRUE(requester_->in_error());
  EXPECT_EQ(requester_->counts().timeouts.get(), 4U) << "the first transmission and three repetitions";
  EXPECT_LE(spent, (1 + 2 + 4 + 8 + 4) * kTimeoutNs);
  EXPECT_EQ(requester_->lost(), 3U);
  EXPECT_EQ(done(), 3U);
  EXPECT_EQ(requester_->unacknowledged(), 0U);
  EXPECT_FALSE(requester_->room());
  EXPECT_EQ(drain(), (Psns{}));
  ack(12);
  EXPECT_EQ(requester_->counts().errors.get(), 1U);
}

TEST_F(Requester, sequence_errors_without_progress_use_up_the_retries_too) {
  make(10);
  write(2);
  for (int i = 0; i < 3; ++i) {
    answer(10, kNak);
    EXPECT_EQ(drain(), (Psns{10, 11}));
  }
  answer(10, kNak);
  EXPECT_TRUE(requester_->in_error());
}

TEST_F(Requester, a_refusal_ends_the_connection_at_once) {
  for (const unsigned syndrome : {0x61U, 0x62U, 0x63U}) {
    make(10);
    write(3);
    answer(11, static_cast<std::uint8_t>(syndrome));
    EXPECT_TRUE(requester_->in_error());
    EXPECT_EQ(requester_->lost(), 2U) << "what was before it has arrived";
    EXPECT_EQ(done(), 3U);
  }
}

TEST_F(Requester, receiver_not_ready_waits_as_long_as_it_is_told) {
  make(10);
  write(3);
  answer(11, 0x20 | 12);
  EXPECT_EQ(done(), 1U);
  EXPECT_EQ(drain(), (Psns{}));
  pass(639'999);
  EXPECT_EQ(drain(), (Psns{}));
  EXPECT_EQ(requester_->counts().timeouts.get(), 0U) << "that is no silence";
  pass(1);
  EXPECT_EQ(drain(), (Psns{11, 12}));
}

TEST_F(Requester, a_receiver_that_stays_not_ready_is_asked_with_one_packet_per_wait) {
  make(10);
  write(3);
  for (int i = 0; i < 50; ++i) {
    answer(11, 0x20 | 12);
    pass(639'999);
    ASSERT_EQ(drain(), (Psns{}));
    pass(1);
    ASSERT_EQ(drain(), (i == 0 ? Psns{11, 12} : Psns{11})) << i;
  }
  EXPECT_TRUE(requester_->behind()) << "what is new has to wait, too";
  ack(11);
  EXPECT_EQ(drain(), (Psns{12}));
  answer(12, 0x20 | 12);
  pass(640'000);
  EXPECT_EQ(drain(), (Psns{12}));
  ack(12);
  write(2);
  answer(13, 0x20 | 12);
  pass(640'000);
  EXPECT_EQ(drain(), (Psns{13, 14})) << "progress begins anew";
}

TEST_F(Requester, receiver_not_ready_is_taken_seven_as_for_ever_and_less_as_a_limit) {
  make(10, {.timeout = 4, .retries = 0, .rnr_retries = 7});
  write(1);
  for (int i = 0; i < 1000; ++i) {
    answer(10, 0x21);
    pass(10'000);
    ASSERT_EQ(drain(), (Psns{10}));
  }
  EXPECT_FALSE(requester_->in_error());
  make(10, {.timeout = 4, .retries = 7, .rnr_retries = 2});
  write(1);
  for (int i = 0; i < 2; ++i) {
    answer(10, 0x21);
    pass(10'000);
    ASSERT_EQ(drain(), (Psns{10}));
  }
  answer(10, 0x21);
  EXPECT_TRUE(requester_->in_error());
}

TEST_F(Requester, records_of_events_are_copied_and_their_images_named_when_acknowledged) {
  make(10);
  std::array<std::byte, FrameRecord::kBytes> record{};
  record[5] = std::byte{42};
  Outgoing packet;
  packet.payload = record.data();
  packet.bytes = FrameRecord::kBytes;
  requester_->push(packet, Ends::event, 77);
  record[5] = std::byte{0};
  const auto next = requester_->next(now_);
  EXPECT_EQ(next.packet->payload[5], std::byte{42});
  EXPECT_EQ(next.image, 77U);
  requester_->handed_over();
  requester_->batch_empty();
  EXPECT_EQ(done(), 0U);
  EXPECT_TRUE(images_.empty());
  ack(10);
  EXPECT_EQ(done(), 0U) << "an event is no write";
  EXPECT_EQ(images_, (std::vector<std::uint64_t>{77}));
}

TEST_F(Requester, there_is_room_until_so_many_packets_or_events_are_unacknowledged) {
  make(0xFFFF00);
  std::size_t pushed = 0;
  for (; requester_->room(); ++pushed) write(1);
  EXPECT_EQ(pushed, RcRequester::kPackets);
  ack(0xFFFF00);
  done();
  EXPECT_TRUE(requester_->room());
  make(0);
  const std::array<std::byte, FrameRecord::kBytes> record{};
  Outgoing packet;
  packet.payload = record.data();
  for (pushed = 0; requester_->room(); ++pushed) requester_->push(packet, Ends::event, pushed);
  EXPECT_EQ(pushed, RcRequester::kEvents);
}

}  // namespace
}  // namespace rashpa::link::roce
