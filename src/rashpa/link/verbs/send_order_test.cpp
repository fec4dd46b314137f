// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/send_order.hpp"

#include <gtest/gtest.h>

namespace rashpa::link::verbs {
namespace {

using Kind = SendOrder::Kind;

TEST(SendOrder, every_nth_write_and_every_event_asks_for_a_completion) {
  SendOrder order(16, 4);
  std::vector<bool> signalled;
  for (int i = 0; i < 6; ++i) signalled.push_back(order.next(Kind::write).signalled);
  signalled.push_back(order.next(Kind::event).signalled);
  for (int i = 0; i < 4; ++i) signalled.push_back(order.next(Kind::write).signalled);
  EXPECT_EQ(signalled, (std::vector<bool>{false, false, false, true, false, false, true, false, false, false, true}));
}

TEST(SendOrder, one_completion_accounts_for_all_before_it) {
  SendOrder order(8, 4);
  for (int i = 0; i < 3; ++i) order.next(Kind::write);
  const std::uint64_t event = order.next(Kind::event).id;
  order.next(Kind::write);
  const SendOrder::Completed done = order.complete(event);
  EXPECT_EQ(done.writes, 3U);
  EXPECT_EQ(done.events, 1U);
  EXPECT_EQ(order.in_flight(), 1U);
  EXPECT_EQ(order.complete(event).writes, 0U) << "twice the same completion";
}

TEST(SendOrder, room_is_what_is_not_in_flight_and_survives_many_turns) {
  SendOrder order(8, 4);
  std::uint64_t writes = 0;
  for (int turn = 0; turn < 100; ++turn) {
    std::uint64_t last = 0;
    while (order.room() != 0) {
      const SendOrder::Next next = order.next(Kind::write);
      if (next.signalled) last = next.id;
    }
    writes += order.complete(last).writes;
    EXPECT_LT(order.in_flight(), 4U) << "a full queue always has a completion to come";
  }
  EXPECT_GE(writes, 400U);
}

TEST(SendOrder, refused_requests_never_were_and_the_next_is_signalled) {
  SendOrder order(8, 4);
  order.next(Kind::write);
  order.next(Kind::write);
  order.next(Kind::write);
  order.take_back(2);
  EXPECT_EQ(order.in_flight(), 1U);
  const SendOrder::Next next = order.next(Kind::write);
  EXPECT_EQ(next.id, 1U);
  EXPECT_TRUE(next.signalled);
}

TEST(SendOrder, a_word_asks_for_a_completion_and_is_neither_write_nor_event) {
  SendOrder order(8, 4);
  order.next(SendOrder::Kind::write);
  EXPECT_TRUE(order.next(SendOrder::Kind::event).signalled);
  const SendOrder::Next word = order.next(SendOrder::Kind::word);
  EXPECT_TRUE(word.signalled);
  const SendOrder::Completed done = order.complete(word.id);
  EXPECT_EQ(done.writes, 1U);
  EXPECT_EQ(done.events, 1U);
  EXPECT_EQ(order.in_flight(), 0U);
}

}  // namespace
}  // namespace rashpa::link::verbs
