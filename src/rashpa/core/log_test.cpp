// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/log.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace rashpa::log {
namespace {

struct Log : testing::Test {
  Log() { empty(); }
  ~Log() override {
    set_level(Level::info);
    empty();
  }
  static void empty() {
    Entry entry;
    while (take(entry)) {
    }
    static_cast<void>(take_lost());
  }
  static std::vector<Entry> all() {
    std::vector<Entry> found;
    Entry entry;
    while (take(entry)) found.push_back(entry);
    return found;
  }
};

TEST_F(Log, messages_arrive_in_order_with_what_they_are_about) {
  write(Level::warning, {.run = 7, .buffer = "main", .dtp = 3, .frame = 1234}, "lost {} of {} lines", 2, 512);
  write(Level::info, {}, "started");
  const auto entries = all();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].text(), "lost 2 of 512 lines");
  EXPECT_EQ(entries[0].level, Level::warning);
  EXPECT_EQ(entries[0].run, 7);
  EXPECT_EQ(entries[0].buffer(), "main");
  EXPECT_EQ(entries[0].dtp, 3);
  EXPECT_EQ(entries[0].frame, 1234);
  EXPECT_GT(entries[0].time_ns, 1'600'000'000'000'000'000);
  EXPECT_EQ(entries[1].text(), "started");
  EXPECT_EQ(entries[1].run, -1);
  EXPECT_EQ(entries[1].buffer(), "");
}

TEST_F(Log, messages_below_the_level_are_not_kept) {
  set_level(Level::warning);
  write(Level::info, {}, "no");
  write(Level::warning, {}, "yes");
  EXPECT_EQ(all().size(), 1U);
  set_level(Level::debug);
  write(Level::debug, {}, "yes");
  EXPECT_EQ(all().size(), 1U);
}

TEST_F(Log, what_finds_no_room_is_counted_and_the_oldest_stay) {
  for (std::size_t i = 0; i < kRoom + 5; ++i) write(Level::info, {}, "{}", i);
  EXPECT_EQ(take_lost(), 5U);
  EXPECT_EQ(take_lost(), 0U);
  const auto entries = all();
  ASSERT_EQ(entries.size(), kRoom);
  EXPECT_EQ(entries.back().text(), std::to_string(kRoom - 1));
  write(Level::info, {}, "again");
  EXPECT_EQ(all().size(), 1U);
}

TEST_F(Log, long_texts_are_cut_between_characters) {
  const std::string most(399, 'x');
  const std::string name(50, 'b');
  write(Level::info, {.buffer = name}, "{}→→", most);
  const auto entries = all();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].text(), most);
  EXPECT_EQ(entries[0].buffer().size(), 32U);
}

TEST_F(Log, a_flood_is_said_once_an_interval_and_counted) {
  Limiter slow(3'600'000'000'000);
  for (int i = 0; i < 1'000'000; ++i) write(slow, Level::warning, {.dtp = 1}, "bad packet {}", i);
  auto entries = all();
  ASSERT_EQ(entries.size(), 1U) << "the first is said";
  EXPECT_EQ(entries[0].text(), "bad packet 0");
  EXPECT_EQ(slow.rest(), 999'999U);
  Limiter fast(0);
  std::uint64_t held_back = 0;
  EXPECT_TRUE(fast.admit(held_back));
  EXPECT_TRUE(fast.admit(held_back)) << "when the interval is over, the next is said";
}

TEST_F(Log, how_many_were_held_back_is_said_with_the_next) {
  Limiter limiter(1);  // nanosecond
  std::uint64_t held_back = 0;
  ASSERT_TRUE(limiter.admit(held_back));
  Limiter closed(3'600'000'000'000);
  ASSERT_TRUE(closed.admit(held_back));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(closed.admit(held_back));
  EXPECT_EQ(closed.rest(), 3U);
  EXPECT_EQ(closed.rest(), 0U);
}

TEST_F(Log, any_number_of_threads_may_write_while_one_takes) {
  constexpr int kThreads = 4;
  constexpr int kMessages = 5000;
  std::atomic<int> running{kThreads};
  std::uint64_t taken = 0;
  {
    std::vector<std::jthread> writers;
    for (int t = 0; t < kThreads; ++t) {
      writers.emplace_back([&running, t] {
        for (int i = 0; i < kMessages; ++i) write(Level::info, {.dtp = t, .frame = i}, "{} {}", t, i);
        running.fetch_sub(1);
      });
    }
    std::array<std::int64_t, kThreads> last{-1, -1, -1, -1};
    Entry entry;
    for (;;) {
      const bool ended = running.load() == 0;
      while (take(entry)) {
        ASSERT_EQ(entry.text(), fmt::format("{} {}", entry.dtp, entry.frame)) << "no message is torn";
        ASSERT_GT(entry.frame, last[static_cast<std::size_t>(entry.dtp)]) << "those of a thread come in order";
        last[static_cast<std::size_t>(entry.dtp)] = entry.frame;
        ++taken;
      }
      if (ended) break;
    }
  }
  EXPECT_EQ(taken + take_lost(), std::uint64_t{kThreads} * kMessages);
}

}  // namespace
}  // namespace rashpa::log
