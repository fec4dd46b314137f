// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/receiver/sinks/sink_line.hpp"
#include "rashpa/receiver/sinks/testing.hpp"

namespace rashpa::receiver {
namespace {

using namespace testing;

/// Throws in one of the calls that are not put(), and counts what it was asked all the same.
class ThrowingSink final : public sink::Sink, public sink::RowKeeping, public sink::WindowKeeping {
 public:
  ThrowingSink(std::string at, std::shared_ptr<std::atomic<int>> closed) : at_(std::move(at)), closed_(closed) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason>) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // wait: its queue is to be full
    for (const StackImage& image : stack.view()) written_ += image.decision == Decision::accepted ? 1 : 0;
    return sink::Put::done;
  }
  void skip(std::span<const sink::SkippedImage>) override { fail("skip"); }
  void put_windows(const Accumulated&) override { fail("put_windows"); }
  std::vector<sink::LostImage> settle() override {
    fail("settle");
    return {};
  }
  void close(const Books&) override {
    ++*closed_;
    fail("close");
  }
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = written_}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  void fail(const std::string& where) const {
    if (at_ == where) throw std::runtime_error("a fault in " + where);
    if (at_ == where + "!") throw 42;  // NOLINT(hicpp-exception-baseclass): of a plugin, say
  }
  std::string at_;
  std::shared_ptr<std::atomic<int>> closed_;
  std::atomic<std::uint64_t> written_{0};
};

TEST(SinkLine, whatever_a_call_of_the_sink_throws_is_its_error_and_the_next_calls_are_made) {
  for (const std::string at : {"skip", "put_windows", "settle", "close", "skip!", "settle!"}) {
    auto closed = std::make_shared<std::atomic<int>>(0);
    Bench b(OnFull::drop);
    b.config.queue = 1;
    b.config.make = [&](const Output&) { return std::make_unique<ThrowingSink>(at, closed); };
    b.make();
    for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);  // faster than the sink: some are dropped
    b.finish();
    EXPECT_EQ(*closed, 1) << at;
    EXPECT_NE(b.line->error(), "") << at;
    if (at.back() != '!') {
      EXPECT_EQ(b.line->error(), "a fault in " + at);
    }
    EXPECT_GT(b.line->status().dropped, 0U) << at;
    b.expect_balanced();
  }
}

/// Counts the first image of a stack as written, and stands still then.
class HalfSink final : public sink::Sink {
 public:
  HalfSink(std::shared_ptr<std::atomic<bool>> open, std::shared_ptr<std::atomic<int>> in)
      : open_(std::move(open)), in_(std::move(in)) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason>) override {
    for (const StackImage& image : stack.view()) {
      if (image.decision != Decision::accepted) continue;
      ++written_;
      ++*in_;
      open_->wait(false);
    }
    return sink::Put::done;
  }
  void close(const Books&) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = written_}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::shared_ptr<std::atomic<bool>> open_;
  std::shared_ptr<std::atomic<int>> in_;
  std::atomic<std::uint64_t> written_{0};
};

TEST(SinkLine, an_image_of_a_stack_in_which_the_sink_was_left_behind_is_errored_and_not_written_as_well) {
  auto open = std::make_shared<std::atomic<bool>>(false);
  auto in = std::make_shared<std::atomic<int>>(0);
  Bench b(OnFull::drop);
  b.config.patience_ns = 50'000'000;
  b.config.make = [&](const Output&) { return std::make_unique<HalfSink>(open, in); };
  b.make();
  EXPECT_TRUE(b.line->offer(b.stacks.stacks[0]));
  EXPECT_EVENTUALLY(*in > 0);
  for (std::size_t n = 1; n < b.stacks.stacks.size(); ++n) b.line->offer(b.stacks.stacks[n]);
  b.finish();
  EXPECT_TRUE(b.line->status().left_behind);
  EXPECT_EQ(b.line->status().written, 0U);
  b.expect_balanced();
  *open = true;
  open->notify_all();
  EXPECT_EVENTUALLY(b.line.use_count() == 1);  // its thread has gone
}

/// Stores nothing of the first stack, has nobody for the second, and names images at its end as it likes.
class ForgetfulSink final : public sink::Sink {
 public:
  explicit ForgetfulSink(std::vector<std::uint64_t> forgotten) : forgotten_(std::move(forgotten)) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (stack.images[i].decision != Decision::accepted) continue;
      if (stack.number == 0) results[i] = ErrorReason::storage;
      if (stack.number == 1) results[i] = ErrorReason::dropped;
      written_ += stack.number > 1 ? 1 : 0;
    }
    return sink::Put::done;
  }
  std::vector<sink::LostImage> settle() override {
    std::vector<sink::LostImage> lost;
    for (const std::uint64_t index : forgotten_) {
      lost.push_back({.index = index, .frame_number = 100 + index, .reason = "forgotten"});
    }
    if (!lost.empty()) written_ -= 2;  // images 4 and 9
    return lost;
  }
  void close(const Books& books) override { EXPECT_TRUE(books.balanced()); }
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = written_}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::vector<std::uint64_t> forgotten_;
  std::atomic<std::uint64_t> written_{0};
};

TEST(SinkLine, an_image_is_lost_once_however_often_its_sink_names_it) {
  Bench b;
  // lost and dropped before, twice, vetoed, not of the run
  b.config.make = [](const Output&) {
    return std::make_unique<ForgetfulSink>(std::vector<std::uint64_t>{0, 1, 2, 4, 4, 9, 4, 3, kImages, ~0ULL});
  };
  b.make();
  for (const Stack& stack : b.stacks.stacks) EXPECT_TRUE(b.line->offer(stack));
  b.finish();
  std::vector<std::uint64_t> lost;
  for (const FirstErrored& one : b.owner.losses) lost.push_back(one.index);
  EXPECT_EQ(lost, (std::vector<std::uint64_t>{0, 1, 4, 9}));
  EXPECT_EQ(b.owner.passed, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(b.line->status().errored, 4U);
  EXPECT_EQ(b.line->status().dropped, 1U);
  b.expect_balanced();
}

/// Takes so long to receive a loss that the line is left behind meanwhile.
class SlowOwner final : public LineOwner {
 public:
  void through(const Stack&) noexcept override {}
  void lost(std::string_view, std::uint64_t index, std::uint64_t, ErrorReason, const std::string&) noexcept override {
    losses.push_back(index);
    if (losses.size() == 1) {
      EXPECT_EVENTUALLY(line->status().left_behind);
    }
  }
  void passed_over(std::uint64_t, std::uint64_t, const std::string&) noexcept override {}
  [[nodiscard]] sink::SkippedImage skipped(std::uint64_t index) const noexcept override { return {.index = index}; }
  [[nodiscard]] Books decided() const noexcept override { return {}; }
  [[nodiscard]] std::uint64_t images() const noexcept override { return kImages; }
  const SinkLine* line = nullptr;
  std::vector<std::uint64_t> losses;  // one call after the other
};

TEST(SinkLine, an_image_that_is_being_settled_while_the_line_is_left_behind_is_settled_once) {
  Bench b(OnFull::drop);
  b.config.patience_ns = 50'000'000;
  b.config.make = [](const Output&) { return std::make_unique<ForgetfulSink>(std::vector<std::uint64_t>{}); };
  SlowOwner owner;
  b.line = std::make_shared<SinkLine>(b.config, output(), 10, 0, owner);
  owner.line = b.line.get();
  b.line->begin();
  b.line->start(-1);
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  EXPECT_TRUE(b.line->status().left_behind);
  std::sort(owner.losses.begin(), owner.losses.end());
  EXPECT_EQ(std::adjacent_find(owner.losses.begin(), owner.losses.end()), owner.losses.end());
  EXPECT_EQ(b.line->status().errored, owner.losses.size());
  b.expect_balanced();
  EXPECT_EVENTUALLY(b.line.use_count() == 1);  // its thread has gone
}

}  // namespace
}  // namespace rashpa::receiver
