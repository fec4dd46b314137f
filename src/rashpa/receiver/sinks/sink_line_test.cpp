// SPDX-License-Identifier: Apache-2.0
/// One sink with its queue, thread and books: its losses affect no other sink.
#include "rashpa/receiver/sinks/sink_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::receiver {
namespace {

constexpr std::uint32_t kStack = 2, kPixels = 6;
constexpr std::uint64_t kImages = 20;

sink::Output output() {
  return {.buffer = "full", .width = 3, .height = 2, .pixel = PixelType::u16, .stack = kStack, .images = kImages};
}

/// Stacks as the unit leaves them: image 3 of each five is vetoed, pixels are the image's number.
struct Stacks {
  Stacks() : pixels(kImages * kPixels), stacks(kImages / kStack) {
    for (std::uint64_t n = 0; n < stacks.size(); ++n) {
      Stack& stack = stacks[n];
      stack.slot = static_cast<std::uint32_t>(n);
      stack.number = n;
      stack.count = kStack;
      for (std::uint64_t i = n * kStack; i < (n + 1) * kStack; ++i) {
        std::fill_n(pixels.data() + i * kPixels, kPixels, static_cast<std::uint16_t>(i));
        StackImage image;
        image.index = i;
        image.frame_number = 100 + i;
        image.completeness = Completeness::complete;
        image.decision = i % 5 == 3 ? Decision::vetoed : Decision::accepted;
        image.pixels = reinterpret_cast<const std::byte*>(pixels.data() + i * kPixels);
        stack.images.push_back(image);
      }
    }
  }
  std::vector<std::uint16_t> pixels;
  std::vector<Stack> stacks;
};
constexpr std::uint64_t kAccepted = 16;

class Owner final : public LineOwner {
 public:
  void through(const Stack& stack) noexcept override {
    const std::lock_guard lock(mutex);
    back.push_back(stack.number);
  }
  void lost(std::string_view name, std::uint64_t index, std::uint64_t, ErrorReason reason,
            const std::string& text) noexcept override {
    const std::lock_guard lock(mutex);
    losses.push_back({.index = index, .reason = reason, .text = std::string(name) + ": " + text});
  }
  void passed_over(std::uint64_t index, std::uint64_t, const std::string&) noexcept override {
    const std::lock_guard lock(mutex);
    passed.push_back(index);
  }
  [[nodiscard]] sink::SkippedImage skipped(std::uint64_t index) const noexcept override {
    return {.index = index, .frame_number = 100 + index};
  }
  [[nodiscard]] Books decided() const noexcept override {
    return {.expected = kImages, .complete = kImages, .accepted = kAccepted, .vetoed = kImages - kAccepted};
  }
  [[nodiscard]] std::uint64_t images() const noexcept override { return kImages; }
  std::mutex mutex;
  std::vector<std::uint64_t> back;
  std::vector<FirstErrored> losses;
  std::vector<std::uint64_t> passed;
};

/// Writes down what it gets; told to, it stands still, fails, or takes its time.
class TestSink final : public sink::Sink, public sink::Deferring, public sink::RowKeeping {
 public:
  struct Log {
    std::atomic<bool> open{true};
    std::atomic<int> entered{0};
    bool later = false;
    std::uint64_t fails_at = kImages, throws_at = kImages, nobody_at = kImages;
    std::vector<std::uint64_t> kept, skipped;  // read when the line is done
    std::vector<std::uint16_t> first_pixels;
    Books books;
    std::atomic<bool> gone{false};
  };
  explicit TestSink(std::shared_ptr<Log> log) : log_(std::move(log)) {}
  ~TestSink() override { log_->gone = true; }
  void connect(Doorbell& bell) override { bell_ = &bell; }
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    ++log_->entered;
    log_->open.wait(false);
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      const StackImage& image = stack.images[i];
      EXPECT_EQ(results[i], ErrorReason::none);
      if (image.decision != Decision::accepted) continue;
      if (image.index == log_->throws_at) throw std::runtime_error("a fault of the sink");
      if (image.index == log_->fails_at) {
        results[i] = ErrorReason::storage;
        continue;
      }
      if (image.index == log_->nobody_at) {
        results[i] = ErrorReason::dropped;
        continue;
      }
      log_->kept.push_back(image.index);
      std::uint16_t pixel = 0;
      std::memcpy(&pixel, image.pixels, 2);
      log_->first_pixels.push_back(pixel);
      ++written_;
    }
    if (!log_->later) return sink::Put::done;
    held_.push_back(&stack);
    // Gives them back two at a time, the newer one first.
    if (held_.size() % 2 == 0) std::swap(held_[held_.size() - 1], held_[held_.size() - 2]);
    ready_ = held_.size() - held_.size() % 2;
    if (stack.number + 1 == kImages / kStack) ready_ = held_.size();
    bell_->ring();
    return sink::Put::later;
  }
  const Stack* take() noexcept override {
    if (ready_ == 0) return nullptr;
    const Stack* stack = held_.front();
    held_.pop_front();
    --ready_;
    return stack;
  }
  void skip(std::span<const sink::SkippedImage> images) override {
    for (const auto& image : images) log_->skipped.push_back(image.index);
  }
  void close(const Books& books) override { log_->books = books; }
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = written_}; }
  [[nodiscard]] std::string error() const override { return log_->fails_at < kImages ? "no room" : ""; }

 private:
  std::shared_ptr<Log> log_;
  Doorbell* bell_ = nullptr;
  std::deque<const Stack*> held_;
  std::size_t ready_ = 0;
  std::atomic<std::uint64_t> written_{0};
};

struct Bench {
  explicit Bench(OnFull on_full = OnFull::wait) {
    config.make = [this](const Output&) { return std::make_unique<TestSink>(log); };
    config.name = "test";
    config.on_full = on_full;
    config.queue = 2;
  }
  void make() {
    line = std::make_shared<SinkLine>(config, output(), static_cast<std::uint32_t>(stacks.stacks.size()), 0, owner);
    line->begin();
    line->start(-1);
  }
  void finish() {
    line->close(stacks.stacks.size(), {});
    EXPECT_EVENTUALLY((line->watch(now_ns()), line->done()));
    line->join();
  }
  void expect_balanced() const {
    const SinkStatus status = line->status();
    EXPECT_EQ(status.accepted, kAccepted);
    EXPECT_EQ(status.waiting, 0U);
    EXPECT_EQ(status.written + status.dropped + status.errored, status.accepted);
  }
  Stacks stacks;
  Owner owner;
  std::shared_ptr<TestSink::Log> log = std::make_shared<TestSink::Log>();
  SinkConfig config;
  std::shared_ptr<SinkLine> line;
};

TEST(SinkLine, a_sink_that_waits_gets_every_stack_and_says_when_it_is_through) {
  Bench b;
  b.make();
  for (const Stack& stack : b.stacks.stacks) EXPECT_TRUE(b.line->offer(stack));
  b.finish();
  EXPECT_EQ(b.owner.back, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(b.log->kept.size(), kAccepted);
  EXPECT_TRUE(b.log->skipped.empty());
  EXPECT_TRUE(b.log->books.balanced());
  EXPECT_FALSE(b.line->status().first.has_value());
  b.expect_balanced();
}

TEST(SinkLine, a_stopped_sink_that_waits_holds_its_stacks) {
  Bench b;
  b.log->open = false;
  b.make();
  for (const Stack& stack : b.stacks.stacks) EXPECT_TRUE(b.line->offer(stack));
  ASSERT_EVENTUALLY(b.log->entered > 0);
  EXPECT_EQ(b.line->status().waiting, kAccepted);
  {
    const std::lock_guard lock(b.owner.mutex);
    EXPECT_TRUE(b.owner.back.empty());
  }
  b.log->open = true;
  b.log->open.notify_all();
  b.finish();
  b.expect_balanced();
}

TEST(SinkLine, a_stopped_sink_that_may_drop_holds_nothing_and_loses_only_its_own) {
  Bench b(OnFull::drop);
  b.log->open = false;
  b.make();
  EXPECT_TRUE(b.line->offer(b.stacks.stacks[0]));
  ASSERT_EVENTUALLY(b.log->entered > 0);
  EXPECT_TRUE(b.line->offer(b.stacks.stacks[1]));  // the second of two places
  for (std::size_t n = 2; n < 8; ++n) EXPECT_FALSE(b.line->offer(b.stacks.stacks[n])) << n;
  // The stacks are as good as written over: the sink has copies.
  std::fill(b.stacks.pixels.begin(), b.stacks.pixels.begin() + std::ptrdiff_t{8} * kStack * kPixels,
            std::uint16_t{0xDEAD});
  b.log->open = true;
  b.log->open.notify_all();
  EXPECT_EVENTUALLY(b.line->offer(b.stacks.stacks[8]));
  // Attempts in vain were counted each time, as the distributor never does.
  b.finish();
  EXPECT_TRUE(b.owner.back.empty()) << "a line that may drop holds no slots";
  ASSERT_GE(b.log->first_pixels.size(), 3U);
  for (std::size_t i = 0; i < b.log->kept.size(); ++i) EXPECT_EQ(b.log->first_pixels[i], b.log->kept[i]);
  EXPECT_EQ(b.log->skipped.front(), 4U);
  EXPECT_EQ(b.log->skipped.back(), 19U) << "the last stack was never offered";
  EXPECT_EQ(b.log->skipped.size(), 14U);
  const SinkStatus status = b.line->status();
  EXPECT_GT(status.dropped, 0U);
  EXPECT_EQ(status.written + status.dropped, status.accepted);
  ASSERT_TRUE(status.first.has_value());
  EXPECT_EQ(status.first->index, 4U);
  EXPECT_EQ(status.first->reason, ErrorReason::dropped);
}

TEST(SinkLine, an_image_that_the_sink_cannot_store_is_lost_with_the_reason) {
  Bench b;
  b.log->fails_at = 6;
  b.make();
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  ASSERT_EQ(b.owner.losses.size(), 1U);
  EXPECT_EQ(b.owner.losses[0].index, 6U);
  EXPECT_EQ(b.owner.losses[0].reason, ErrorReason::storage);
  EXPECT_EQ(b.owner.losses[0].text, "test: no room");
  EXPECT_EQ(b.line->status().errored, 1U);
  EXPECT_EQ(b.log->books.errored, 1U);
  EXPECT_TRUE(b.log->books.balanced());
  EXPECT_EQ(b.owner.back.size(), b.stacks.stacks.size());
  b.expect_balanced();
}

TEST(SinkLine, an_image_that_the_sink_had_nobody_for_is_dropped_and_not_errored) {
  Bench b;
  b.log->nobody_at = 6;
  b.make();
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  EXPECT_TRUE(b.owner.losses.empty());
  EXPECT_EQ(b.owner.passed, std::vector<std::uint64_t>{6});
  const SinkStatus status = b.line->status();
  EXPECT_EQ(status.dropped, 1U);
  EXPECT_EQ(status.errored, 0U);
  ASSERT_TRUE(status.first.has_value());
  EXPECT_EQ(status.first->index, 6U);
  b.expect_balanced();
}

TEST(SinkLine, an_exception_loses_one_stack) {
  Bench b;
  b.log->throws_at = 4;
  b.make();
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  EXPECT_EQ(b.line->status().errored, 2U);
  EXPECT_EQ(b.line->error(), "a fault of the sink");
  b.expect_balanced();
}

TEST(SinkLine, stacks_come_back_later_and_in_any_order) {
  for (const OnFull on_full : {OnFull::wait, OnFull::drop}) {
    Bench b(on_full);
    b.config.queue = static_cast<std::uint32_t>(b.stacks.stacks.size());
    b.log->later = true;
    b.make();
    for (const Stack& stack : b.stacks.stacks) EXPECT_TRUE(b.line->offer(stack));
    b.finish();
    if (on_full == OnFull::wait) {
      EXPECT_EQ(b.owner.back, (std::vector<std::uint64_t>{1, 0, 3, 2, 5, 4, 7, 6, 9, 8}));
    }
    EXPECT_EQ(b.line->status().written, kAccepted);
    b.expect_balanced();
  }
}

TEST(SinkLine, a_sink_that_does_not_come_back_is_left_behind) {
  Bench b(OnFull::drop);
  b.config.patience_ns = 100'000'000;
  b.log->open = false;
  b.make();
  for (const Stack& stack : b.stacks.stacks) b.line->offer(stack);
  b.finish();
  const SinkStatus status = b.line->status();
  EXPECT_TRUE(status.left_behind);
  EXPECT_EQ(status.written, 0U);
  EXPECT_EQ(status.errored, 3U) << "two stacks, one image vetoed";
  EXPECT_EQ(status.dropped, kAccepted - 3);
  EXPECT_NE(status.error.find("left behind"), std::string::npos) << status.error;
  EXPECT_EQ(b.owner.losses.size(), 3U);
  b.expect_balanced();
  // When it comes back after all, it finds nobody, and goes.
  b.line.reset();
  EXPECT_FALSE(b.log->gone);
  b.log->open = true;
  b.log->open.notify_all();
  EXPECT_EVENTUALLY(b.log->gone);
  EXPECT_EQ(b.owner.losses.size(), 3U);
}

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

/// Says of some images that they were written over.
struct Careless final : SlotGuard {
  [[nodiscard]] bool overwritten(const StackImage& image) const noexcept override { return image.index == 1; }
};

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

/// Is told of a loss for so long that the line is left behind meanwhile.
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

TEST(ImageFates, are_settled_once_and_a_kept_image_may_be_lost) {
  ImageFates fates(8);
  EXPECT_FALSE(fates.settle(3, Fate::lost)) << "never offered";
  for (const Fate first : {Fate::kept, Fate::dropped, Fate::lost}) {
    for (const Fate second : {Fate::kept, Fate::dropped, Fate::lost}) {
      fates.offer(3);
      EXPECT_TRUE(fates.settle(3, first));
      const bool changes = first == Fate::kept && second == Fate::lost;
      EXPECT_EQ(fates.settle(3, second), changes);
      EXPECT_EQ(fates.of(3), changes ? second : first);
    }
  }
  fates.offer(8);
  EXPECT_FALSE(fates.settle(8, Fate::kept)) << "beyond the run";
  EXPECT_EQ(fates.of(8), Fate::none);
}

TEST(ImageFates, of_two_threads_one_settles) {
  constexpr std::uint64_t kMany = 20'000;
  ImageFates fates(kMany);
  for (std::uint64_t i = 0; i < kMany; ++i) fates.offer(i);
  std::atomic<std::uint64_t> settled{0};
  const auto settle_all = [&](Fate to) {
    for (std::uint64_t i = 0; i < kMany; ++i) settled += fates.settle(i, to) ? 1 : 0;
  };
  {
    const std::jthread one(settle_all, Fate::lost);
    const std::jthread other(settle_all, Fate::dropped);
  }
  EXPECT_EQ(settled, kMany);
}

TEST(StackCopies, a_chunk_is_copied_in_place_of_pixels) {
  sink::Output chunked = output();
  chunked.chunked = true;
  StackCopies copies(chunked, 1, 0);
  Stacks stacks;
  Stack& stack = stacks.stacks[0];
  const Careless guard;
  stack.guard = &guard;
  std::vector<std::byte> chunk(20, std::byte{7});
  for (StackImage& image : stack.images) {
    image.pixels = nullptr;
    image.chunk = chunk;
  }
  const Stack* copy = copies.take(stack);
  ASSERT_NE(copy, nullptr);
  std::fill(chunk.begin(), chunk.end(), std::byte{});
  EXPECT_EQ(copy->images[0].pixels, nullptr);
  ASSERT_EQ(copy->images[0].chunk.size(), 20U);
  EXPECT_EQ(copy->images[0].chunk[19], std::byte{7});
  EXPECT_EQ(copy->images[1].decision, Decision::accepted) << "its slot is not what was read";
}

TEST(StackCopies, an_accepted_image_without_its_chunk_is_errored) {
  sink::Output chunked = output();
  chunked.chunked = true;
  StackCopies copies(chunked, 1, 0);
  Stacks stacks;
  Stack& stack = stacks.stacks[0];
  for (StackImage& image : stack.images) image.pixels = nullptr;
  const Stack* copy = copies.take(stack);
  ASSERT_NE(copy, nullptr);
  for (const StackImage& image : copy->images) EXPECT_EQ(image.error, ErrorReason::storage);
}

TEST(StackCopies, profiles_of_accepted_images_are_copied) {
  sink::Output given = output();
  given.results.profiles = {{"one", {{.name = "a"}, {.name = "b"}}, {{.name = "x", .values = {1, 2, 3}}}, {}},
                            {"two", {{.name = "a"}}, {{.name = "x", .values = {1, 2}}}, {}}};
  StackCopies copies(given, 1, 0);
  Stacks stacks;
  Stack& stack = stacks.stacks[0];
  std::vector<double> one{1, 2, 3, 4, 5, 6}, two{7, 8};
  for (StackImage& image : stack.images) image.profiles = {{{one.data()}, {two.data()}}};
  stack.images[1].decision = Decision::vetoed;
  stack.images[1].profiles = {};
  const Stack* copy = copies.take(stack);
  ASSERT_NE(copy, nullptr);
  std::fill(one.begin(), one.end(), 0);
  std::fill(two.begin(), two.end(), 0);
  EXPECT_EQ(copy->images[0].profiles[0].values[5], 6);
  EXPECT_EQ(copy->images[0].profiles[1].values[1], 8);
  EXPECT_EQ(copy->images[1].profiles[0].values, nullptr);
}

TEST(StackCopies, facts_lists_and_lost_lines_are_copied_and_what_was_overwritten_is_errored) {
  sink::Output lists = output();
  lists.pixel = PixelType::i16;
  lists.sparse = true;
  lists.list_capacity = 4;
  StackCopies copies(lists, 1, 2);
  Stacks given;
  Stack& stack = given.stacks[0];
  const std::uint32_t index[] = {0, 2, 5};
  const std::int16_t value[] = {7, 8, 9};
  LostRun run{3, 1, 1};
  stack.images[0].sparse = {index, value, 3};
  stack.images[0].lost = &run;
  stack.images[0].lost_count = 1;
  stack.images[1].sparse = {index, value, 5};
  const Stack* copy = copies.take(stack);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copies.take(stack), nullptr) << "there is room for one";
  const StackImage& first = copy->images[0];
  EXPECT_EQ(first.frame_number, 100U);
  EXPECT_EQ(first.lost_runs()[0], run);
  EXPECT_NE(first.lost, &run);
  ASSERT_EQ(first.sparse.count, 3U);
  EXPECT_EQ(first.sparse.index[2], 5U);
  EXPECT_EQ(static_cast<const std::int16_t*>(first.sparse.value)[2], 9);
  EXPECT_EQ(copy->images[1].error, ErrorReason::storage) << "longer than there is room for";
  copies.give_back(copy->slot);
  EXPECT_NE(copies.take(stack), nullptr);

  StackCopies dense(output(), 1, 0);
  const Careless guard;
  Stack& other = given.stacks[0];
  other.guard = &guard;
  for (StackImage& image : other.images) {
    image.sparse = {};
    image.raw = const_cast<std::byte*>(image.pixels);
    image.lost_count = 0;
  }
  const Stack* pixels = dense.take(other);
  ASSERT_NE(pixels, nullptr);
  EXPECT_EQ(pixels->images[0].decision, Decision::accepted);
  EXPECT_EQ(pixels->images[1].error, ErrorReason::overwritten);
  EXPECT_TRUE(pixels->intact(pixels->images[0])) << "a copy stays as it is";
}

}  // namespace
}  // namespace rashpa::receiver
