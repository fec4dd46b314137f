// SPDX-License-Identifier: Apache-2.0
/// An engine with a device that works beside it on order, or breaks. No GPU is needed for that.
#include "rashpa/link/pcie/copy_engine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "rashpa/link/pcie/copy_engine_testing.hpp"
#include "rashpa/link/pcie/cpu_engine.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::pcie {
namespace {

using testing::Desk;
using testing::FakeDevice;

class CopyEngineTest : public ::testing::Test {
 protected:
  CopyEngineTest() : source_(1U << 20), memory_(1U << 20) {
    link::testing::fill(source_, 5);
    desk_.memory = memory_;
  }
  [[nodiscard]] BufferDescriptor line(std::uint64_t from, std::uint64_t to, std::uint32_t bytes) const {
    return {source_.data() + from, to, bytes};
  }
  [[nodiscard]] std::vector<BufferDescriptor> lines(std::uint32_t count, std::uint32_t bytes, std::uint64_t from_pitch,
                                                    std::uint64_t to_pitch) const {
    std::vector<BufferDescriptor> all;
    for (std::uint32_t i = 0; i < count; ++i) all.push_back(line(i * from_pitch, i * to_pitch, bytes));
    return all;
  }
  std::size_t give(const std::vector<BufferDescriptor>& writes) { return engine_.copy(writes); }
  bool announce(std::uint32_t immediate) {
    record_.fill(static_cast<std::byte>(immediate));
    const bool taken = engine_.announce({record_.data(), kRecord, immediate}, lock_);
    record_.fill(std::byte{0xEE});  // it was the caller's only during the call
    return taken;
  }
  static constexpr std::uint64_t kRecord = (1U << 20) - 128;

  std::vector<std::byte> source_;
  std::vector<std::byte> memory_;
  std::array<std::byte, FrameRecord::kBytes> record_{};
  std::atomic<std::uint32_t> lock_{0};
  Desk desk_;
  CopyEngine engine_{std::make_unique<FakeDevice>(desk_)};
};

TEST_F(CopyEngineTest, lines_at_equal_distances_are_one_copy_over_several_calls) {
  const auto all = lines(96, 512, 2048, 640);
  EXPECT_EQ(give({all.begin(), all.begin() + 32}), 32U);
  EXPECT_EQ(engine_.take_done().writes, 0U) << "a look in between begins nothing";
  EXPECT_EQ(give({all.begin() + 32, all.end()}), 64U);
  EXPECT_TRUE(desk_.copies.empty());
  EXPECT_TRUE(announce(7));
  ASSERT_EQ(desk_.copies.size(), 1U);
  EXPECT_EQ(desk_.copies[0].rows, 96U);
  EXPECT_EQ(desk_.copies[0].width, 512U);
  EXPECT_EQ(desk_.copies[0].source_stride, 2048U);
  EXPECT_EQ(desk_.copies[0].destination_stride, 640U);
  EXPECT_FALSE(desk_.copies[0].contiguous());
  EXPECT_EQ(desk_.marks, 1U) << "the event is all that says that it is done";
  EXPECT_EQ(engine_.pending(), 97U);
  desk_.work();
  for (std::uint32_t i = 0; i < 96; ++i) {
    ASSERT_EQ(std::memcmp(memory_.data() + std::size_t{i} * 640, source_.data() + std::size_t{i} * 2048, 512), 0) << i;
  }
  const Progress progress = engine_.take_done();
  EXPECT_EQ(progress.writes, 96U);
  EXPECT_EQ(progress.announced, 1U);
  EXPECT_EQ(progress.lost, 0U);
  EXPECT_EQ(engine_.pending(), 0U);
}

TEST_F(CopyEngineTest, what_does_not_fit_begins_a_copy_of_its_own) {
  give({line(0, 0, 64), line(128, 64, 64),         // a distance
        line(256, 192, 64),                        // another one at the destination
        line(512, 256, 32),                        // another length
        line(448, 288, 32),                        // before it
        line(448, 320, 32),                        // the same source again
        line(480, 340, 32), line(512, 330, 32)});  // a destination that would overlap
  announce(1);
  desk_.work();
  std::vector<std::uint32_t> rows;
  for (const Rectangle& copy : desk_.copies) rows.push_back(copy.rows);
  EXPECT_EQ(rows, (std::vector<std::uint32_t>{2, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(engine_.take_done().writes, 8U);
  // Every one of them, compared with the bytes of the processor's engine.
  std::vector<std::byte> expected(1U << 20);
  CpuEngine cpu{expected};
  const std::array all{line(0, 0, 64),     line(128, 64, 64),  line(256, 192, 64), line(512, 256, 32),
                       line(448, 288, 32), line(448, 320, 32), line(480, 340, 32), line(512, 330, 32)};
  cpu.copy(all);
  std::memset(memory_.data() + kRecord, 0, FrameRecord::kBytes);
  EXPECT_EQ(memory_, expected);
}

TEST_F(CopyEngineTest, lines_without_gaps_are_one_run) {
  give(lines(16, 4096, 4096, 4096));
  announce(1);
  ASSERT_EQ(desk_.copies.size(), 1U);
  EXPECT_TRUE(desk_.copies[0].contiguous());
  EXPECT_EQ(desk_.copies[0].bytes(), 65536U);
}

TEST_F(CopyEngineTest, the_lock_word_is_written_behind_the_record_and_the_record_behind_the_lines) {
  give(lines(4, 100, 100, 200));
  announce(3);
  EXPECT_EQ(lock_, 0U);
  EXPECT_EQ(desk_.work(1), 1U);
  EXPECT_EQ(lock_, 0U) << "lines alone";
  EXPECT_EQ(engine_.take_done().writes, 0U) << "nobody has said that they are done";
  desk_.work(1);
  EXPECT_EQ(lock_, 3U);
  EXPECT_EQ(memory_[kRecord], std::byte{3}) << "as it was when the call was made";
  EXPECT_EQ(engine_.take_done().writes, 4U);
}

TEST_F(CopyEngineTest, who_asks_twice_has_what_was_given_begun_without_an_event) {
  give(lines(4, 100, 100, 200));
  engine_.take_done();
  EXPECT_TRUE(desk_.copies.empty());
  engine_.take_done();
  EXPECT_EQ(desk_.copies.size(), 1U);
  EXPECT_EQ(desk_.marks, 1U);
  engine_.take_done();
  EXPECT_EQ(desk_.marks, 1U) << "once";
  desk_.work();
  const Progress progress = engine_.take_done();
  EXPECT_EQ(progress.writes, 4U);
  EXPECT_EQ(progress.announced, 0U);
}

TEST_F(CopyEngineTest, a_device_may_wait_for_company_until_nothing_is_given_between_two_looks) {
  give(lines(4, 100, 100, 200));
  announce(1);
  engine_.take_done();
  EXPECT_EQ(desk_.may_wait, 1U);
  give(lines(4, 100, 100, 200));
  engine_.take_done();
  EXPECT_EQ(desk_.may_wait, 2U);
  EXPECT_EQ(desk_.shall_begin, 0U);
  announce(2);
  engine_.take_done();
  EXPECT_EQ(desk_.may_wait, 3U) << "an event is something given, too";
  EXPECT_EQ(desk_.shall_begin, 0U);
  engine_.take_done();
  EXPECT_EQ(desk_.shall_begin, 1U);
  desk_.broken = true;
  engine_.take_done();
  EXPECT_TRUE(engine_.failed()) << "it has said so";
  EXPECT_EQ(engine_.take_done().lost, 0U);
  EXPECT_EQ(engine_.pending(), 0U);
}

TEST_F(CopyEngineTest, so_much_and_no_more_is_on_its_way) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < 2000; ++i) taken += give({line(i % 7 * 100, i % 5 * 100, 50 + i % 2)});
  EXPECT_LT(taken, 300U);
  EXPECT_LE(desk_.most_todo, CopyEngine::kMostCopies);
  EXPECT_FALSE(announce(1)) << "no room";
  std::size_t done = 0;
  for (int round = 0; round < 1000 && done < taken; ++round) {
    desk_.work(3);
    done += engine_.take_done().writes;
  }
  EXPECT_EQ(done, taken);
  EXPECT_TRUE(announce(1));
  EXPECT_EQ(engine_.pending(), 1U);
  desk_.work();
  EXPECT_EQ(engine_.take_done().announced, 1U);
  // Events alone are bounded, too.
  std::size_t events = 0;
  while (announce(2) && events < 1000) ++events;
  EXPECT_GT(events, 16U);
  EXPECT_LT(events, 1000U);
  desk_.work();
  EXPECT_EQ(engine_.take_done().announced, events);
}

TEST_F(CopyEngineTest, a_copy_is_bounded) {
  const std::vector<std::byte> large(10U << 20);
  std::vector<BufferDescriptor> all;
  for (std::uint64_t at = 0; at < large.size(); at += 1U << 20) all.push_back({large.data() + at, at, 1U << 20});
  give(all);
  announce(1);
  ASSERT_EQ(desk_.copies.size(), 3U);
  for (const Rectangle& copy : desk_.copies) EXPECT_LE(copy.bytes(), CopyEngine::kLargestCopy);
}

TEST_F(CopyEngineTest, a_device_that_refuses_loses_everything_and_nobody_waits) {
  give(lines(4, 100, 100, 200));
  announce(1);
  give(lines(3, 100, 100, 200));
  desk_.broken = true;
  EXPECT_TRUE(announce(2));
  EXPECT_TRUE(engine_.failed());
  EXPECT_EQ(engine_.pending(), 0U);
  Progress progress = engine_.take_done();
  EXPECT_EQ(progress.writes, 7U) << "their source is free";
  EXPECT_EQ(progress.lost, 9U);
  EXPECT_EQ(progress.announced, 0U);
  EXPECT_EQ(give(lines(5, 100, 100, 200)), 5U);
  EXPECT_TRUE(announce(3));
  progress = engine_.take_done();
  EXPECT_EQ(progress.writes, 5U);
  EXPECT_EQ(progress.lost, 6U);
  EXPECT_EQ(lock_, 0U) << "none of them was announced";
}

TEST_F(CopyEngineTest, a_device_that_falls_silent_is_asked_and_given_up) {
  give(lines(4, 100, 100, 200));
  announce(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));  // wait: a device that is slow
  engine_.take_done();
  EXPECT_FALSE(engine_.failed()) << "slow is not broken";
  desk_.lost = true;
  const std::int64_t until = now_ns() + 5'000'000'000;
  while (!engine_.failed() && now_ns() < until) engine_.take_done();
  EXPECT_TRUE(engine_.failed());
  EXPECT_EQ(engine_.pending(), 0U);
}

}  // namespace
}  // namespace rashpa::link::pcie
