// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sending/sender_window.hpp"

#include <gtest/gtest.h>

namespace rashpa::link {
namespace {

constexpr std::uint32_t kSilenceUs = 1000;
constexpr std::int64_t kSilenceNs = 1'000'000;

TEST(SenderWindow, a_window_of_zero_is_always_open) {
  SenderWindow window(0, kSilenceUs, 0);
  window.sent(1'000'000'000);
  EXPECT_TRUE(window.open(1, 0));
  EXPECT_FALSE(window.write_off(1, 0, 1'000'000'000));
}

TEST(SenderWindow, it_closes_when_full_and_opens_as_bytes_are_acknowledged) {
  SenderWindow window(100, kSilenceUs, 0);
  window.sent(60);
  EXPECT_TRUE(window.open(40, 0));
  EXPECT_FALSE(window.open(41, 0));
  EXPECT_TRUE(window.open(41, 1));
}

TEST(SenderWindow, one_message_larger_than_the_window_goes_when_nothing_flies) {
  SenderWindow window(100, kSilenceUs, 0);
  EXPECT_TRUE(window.open(500, 0));
  window.sent(500);
  EXPECT_FALSE(window.open(1, 0));
  EXPECT_TRUE(window.open(500, 500));
}

TEST(SenderWindow, a_receiver_that_is_silent_is_asked_by_one_message_at_a_time) {
  SenderWindow window(100, kSilenceUs, 0);
  window.sent(100);
  EXPECT_FALSE(window.write_off(10, 0, kSilenceNs - 1));
  EXPECT_FALSE(window.open(1, 0));
  for (std::int64_t silences = 1; silences <= 5; ++silences) {
    EXPECT_TRUE(window.write_off(10, 0, silences * kSilenceNs));
    EXPECT_TRUE(window.open(10, 0));
    EXPECT_FALSE(window.open(11, 0)) << "it may stand still, and its socket is full";
    window.sent(10);
    EXPECT_FALSE(window.open(1, 0));
  }
}

TEST(SenderWindow, an_answer_to_that_message_means_that_what_went_before_is_lost) {
  SenderWindow window(100, kSilenceUs, 0);
  window.sent(100);
  ASSERT_TRUE(window.write_off(10, 0, kSilenceNs));
  window.sent(10);
  window.looked(10, 0, kSilenceNs + 1);
  EXPECT_TRUE(window.open(80, 10));
  window.sent(80);
  // All come after all: bytes that were written off must not hold the window open any longer.
  window.looked(190, 0, kSilenceNs + 2);
  window.sent(100);
  EXPECT_FALSE(window.open(1, 190));
}

TEST(SenderWindow, who_sees_repetitions_sends_nothing_into_a_silence) {
  SenderWindow window(100, 0, 0);
  window.sent(100);
  EXPECT_FALSE(window.write_off(1, 0, 3600 * kSilenceNs));
  EXPECT_FALSE(window.open(1, 0));
}

TEST(SenderWindow, three_repetitions_behind_the_last_packet_mean_that_its_bytes_are_lost) {
  SenderWindow window(100, kSilenceUs, 0);
  window.looked(0, 5, 1);  // repetitions from before
  window.sent(100);
  window.flushed();
  for (std::uint64_t repeats = 6; repeats < 8; ++repeats) {
    window.looked(0, repeats, 2);
    EXPECT_FALSE(window.write_off(1, 0, 3));
  }
  window.looked(0, 8, 4);
  EXPECT_TRUE(window.write_off(1, 0, 5));
  EXPECT_TRUE(window.open(100, 0));
}

TEST(SenderWindow, links_wait_half_a_second_as_decision_0004_says) { EXPECT_EQ(SenderWindow::kSilenceUs, 500'000U); }

TEST(SenderWindow, a_word_of_any_value_opens_it_and_no_more) {
  for (const std::uint64_t word : {~std::uint64_t{0}, ~std::uint64_t{0} - 50, std::uint64_t{1} << 63U}) {
    SenderWindow window(100, 0, 0);
    window.sent(100);
    for (std::uint64_t repeats = 1; repeats < 5; ++repeats) window.looked(0, repeats, 1);
    EXPECT_TRUE(window.write_off(100, 0, 2)) << "what flew is written off";
    EXPECT_EQ(window.in_flight(word), 0U) << word;
    window.looked(word, 5, 3);
    window.sent(60);
    EXPECT_EQ(window.in_flight(word), 0U) << word;
    EXPECT_TRUE(window.open(100, word)) << word;
  }
}

}  // namespace
}  // namespace rashpa::link
