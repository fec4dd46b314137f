// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/system/doorbell.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace rashpa {
namespace {

TEST(Doorbell, no_ring_is_lost_in_a_ping_pong) {
  Doorbell ping;
  Doorbell pong;
  std::atomic<int> value{0};
  constexpr int kRounds = 2000;
  std::jthread other([&] {
    for (int round = 0; round < kRounds; ++round) {
      for (auto seen = ping.count(); value.load() != 2 * round + 1; seen = ping.count()) {
        if (value.load() != 2 * round + 1) ping.wait(seen, std::chrono::seconds(10));
      }
      value.store(2 * round + 2);
      pong.ring();
    }
  });
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < kRounds; ++round) {
    value.store(2 * round + 1);
    ping.ring();
    for (auto seen = pong.count(); value.load() != 2 * round + 2; seen = pong.count()) {
      if (value.load() != 2 * round + 2) pong.wait(seen, std::chrono::seconds(10));
    }
  }
  // A lost ring would cost one ten-second time-out.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(9));
}

TEST(Doorbell, wait_ends_at_its_timeout) {
  Doorbell bell;
  const auto start = std::chrono::steady_clock::now();
  bell.wait(bell.count(), std::chrono::milliseconds(20));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(19));
}

TEST(Doorbell, rings_the_one_behind_it) {
  Doorbell behind;
  Doorbell front(behind);
  front.ring();
  front.ring();
  EXPECT_EQ(front.count(), 2U);
  EXPECT_EQ(behind.count(), 2U);
  behind.ring();
  EXPECT_EQ(front.count(), 2U);
}

}  // namespace
}  // namespace rashpa
