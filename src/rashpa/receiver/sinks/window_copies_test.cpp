// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/window_copies.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/receiver/sinks/testing.hpp"

namespace rashpa::receiver {
namespace {

using namespace testing;

/// Writes down its windows, their content, and the last image before each; stands still on order.
class WindowSink final : public sink::Sink, public sink::RowKeeping, public sink::WindowKeeping {
 public:
  struct Log {
    std::atomic<bool> open{false};
    std::atomic<int> entered{0};
    std::vector<std::array<std::uint64_t, 3>> windows;  // number, value, image before
  };
  explicit WindowSink(std::shared_ptr<Log> log) : log_(std::move(log)) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason>) override {
    ++log_->entered;
    log_->open.wait(false);
    EXPECT_FALSE(carries_windows(stack)) << "they would be kept twice";
    last_ = stack.view().back().index;
    return sink::Put::done;
  }
  void skip(std::span<const sink::SkippedImage> images) override { last_ = images.back().index; }
  void put_windows(const Accumulated& windows) override {
    for (const AccumulatedView& one : windows) {
      if (!one.ended()) continue;
      std::uint64_t value = 0;
      std::memcpy(&value, one.values[0], sizeof value);
      log_->windows.push_back({one.window, value, last_});
    }
  }
  void close(const Books&) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::shared_ptr<Log> log_;
  std::uint64_t last_ = 0;
};

/// A line of a sink that stands still, and stacks with each of which a window ends.
struct WindowBench {
  WindowBench() {
    config.make = [this](const Output&) { return std::make_unique<WindowSink>(log); };
    config.name = "test";
    config.on_full = OnFull::drop;
    config.queue = 2;
    Output made = output();
    made.results.accumulations = {
        {.name = "sums", .quantities = {{.name = "sum", .type = Quantity::Type::i64}}, .shape = {1}}};
    line = std::make_shared<SinkLine>(config, made, kImages / kStack, 0, owner);
    line->begin();
    line->start(-1);
  }
  void offer(std::uint64_t number, bool with_window) {
    Stack& stack = stacks.stacks[number];
    std::uint64_t sum = 1000 + number;
    if (with_window) {
      stack.accumulated[0] = {.values = {reinterpret_cast<const std::byte*>(&sum)}, .window = number, .end = 1};
    }
    line->offer(stack);
    sum = 0;  // the unit makes the next one in the same memory
  }
  void finish() {
    log->open = true;
    log->open.notify_all();
    line->close(stacks.stacks.size(), {});
    EXPECT_EVENTUALLY((line->watch(now_ns()), line->done()));
    line->join();
  }
  Stacks stacks;
  Owner owner;
  std::shared_ptr<WindowSink::Log> log = std::make_shared<WindowSink::Log>();
  SinkConfig config;
  std::shared_ptr<SinkLine> line;
};

TEST(SinkLine, windows_that_end_with_a_stack_that_is_dropped_reach_the_sink) {
  WindowBench b;
  b.offer(0, false);
  ASSERT_EVENTUALLY(b.log->entered > 0);
  for (std::uint64_t n = 1; n < kImages / kStack; ++n) b.offer(n, n == 3 || n == 8);
  b.finish();
  EXPECT_GT(b.line->status().dropped, 0U);
  EXPECT_EQ(b.log->windows, (std::vector<std::array<std::uint64_t, 3>>{{3, 1003, 7}, {8, 1008, 17}}));
  EXPECT_EQ(b.line->error(), "");
}

TEST(SinkLine, windows_of_a_stack_that_the_sink_gets_come_behind_it) {
  WindowBench b;
  b.log->open = true;
  for (std::uint64_t n = 0; n < kImages / kStack; ++n) {
    b.offer(n, true);
    ASSERT_EVENTUALLY(b.log->entered == static_cast<int>(n) + 1);
  }
  b.finish();
  ASSERT_EQ(b.log->windows.size(), kImages / kStack);
  for (std::uint64_t n = 0; n < kImages / kStack; ++n) {
    EXPECT_EQ(b.log->windows[n], (std::array<std::uint64_t, 3>{n, 1000 + n, 2 * n + 1}));
  }
  EXPECT_EQ(b.line->error(), "");
}

TEST(SinkLine, windows_for_which_there_is_no_room_are_an_error_of_the_sink) {
  WindowBench b;
  b.offer(0, false);
  ASSERT_EVENTUALLY(b.log->entered > 0);
  for (std::uint64_t n = 1; n < kImages / kStack; ++n) b.offer(n, n >= 6);
  b.finish();
  EXPECT_EQ(b.log->windows, (std::vector<std::array<std::uint64_t, 3>>{{6, 1006, 13}, {7, 1007, 15}}));
  EXPECT_NE(b.line->error().find("windows of sums that end with image 17 are lost"), std::string::npos)
      << b.line->error();
}

}  // namespace
}  // namespace rashpa::receiver
