// SPDX-License-Identifier: Apache-2.0
/// Several sinks of one buffer: none is felt by another.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "chain.hpp"
#include "checks.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/sink/simple/null_sink.hpp"

namespace rashpa::chain {
namespace {

using receiver::OnFull;
using receiver::Output;
using receiver::SinkStatus;

/// Stands still until it is told to go on, or cannot store some images, or takes a while.
class TroubledSink final : public sink::Sink {
 public:
  struct Trouble {
    std::shared_ptr<std::atomic<bool>> go_on{};  ///< shared with a thread that may be left behind
    std::uint64_t fails_each = 0;                ///< images that cannot be stored; 0: none
    std::int64_t delay_us = 0;
  };
  explicit TroubledSink(Trouble trouble) : trouble_(std::move(trouble)) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    if (trouble_.go_on != nullptr) trouble_.go_on->wait(false);
    std::this_thread::sleep_for(std::chrono::microseconds(trouble_.delay_us));  // wait: this sink takes long
    const auto images = stack.view();
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].decision != Decision::accepted) continue;
      if (trouble_.fails_each != 0 && images[i].index % trouble_.fails_each == 0) {
        results[i] = ErrorReason::storage;
      } else {
        ++images_;
      }
    }
    return sink::Put::done;
  }
  void close(const Books& books) override { balanced_ = books.balanced(); }
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = images_}; }
  [[nodiscard]] std::string error() const override { return trouble_.fails_each != 0 ? "the disk is full" : ""; }
  ~TroubledSink() override { EXPECT_TRUE(balanced_ || trouble_.go_on != nullptr); }

 private:
  Trouble trouble_;
  std::atomic<std::uint64_t> images_{0};
  bool balanced_ = false;
};

receiver::SinkConfig troubled(TroubledSink::Trouble trouble, OnFull on_full = OnFull::wait) {
  receiver::SinkConfig config(
      [trouble = std::move(trouble)](const Output&) { return std::make_unique<TroubledSink>(trouble); });
  config.name = "troubled";
  config.on_full = on_full;
  return config;
}

/// Holds three stacks and gives the latest of them back first.
class LaterSink final : public sink::Sink, public sink::Deferring {
 public:
  explicit LaterSink(std::uint64_t images) : left_(images) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    static_cast<void>(results);
    held_.push_back(&stack);
    written_ += stack.count;
    left_ -= stack.count;
    ready_ = held_.size() == 3 || left_ == 0 ? held_.size() : ready_;
    if (ready_ != 0) bell_->ring();
    return sink::Put::later;
  }
  void connect(Doorbell& bell) override { bell_ = &bell; }
  const Stack* take() noexcept override {
    if (ready_ == 0) return nullptr;
    --ready_;
    const Stack* stack = held_.back();
    held_.pop_back();
    return stack;
  }
  void close(const Books&) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = written_}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::uint64_t left_;
  Doorbell* bell_ = nullptr;
  std::vector<const Stack*> held_;
  std::size_t ready_ = 0;
  std::atomic<std::uint64_t> written_{0};
};

void expect_all(const SinkStatus& status, std::uint64_t images) {
  EXPECT_EQ(status.accepted, images) << status.name;
  EXPECT_EQ(status.written, images) << status.name;
  EXPECT_EQ(status.dropped + status.errored + status.waiting, 0U) << status.name;
}

TEST(Sinks, a_stopped_one_that_may_drop_is_not_felt_by_a_good_one_and_the_run_ends) {
  const auto go_on = std::make_shared<std::atomic<bool>>(false);
  Plan plan = checked();
  plan.sinks.push_back(troubled({.go_on = go_on}, OnFull::drop));
  plan.sinks.back().patience_ns = 300'000'000;
  {
    Chain chain(plan);
    ASSERT_TRUE(chain.play(20)) << "the run ends though the sink never came back";
    expect_books_equal_the_log(chain);
    const receiver::BufferStatus buffer = chain.receiver->status().buffers[0];
    ASSERT_EQ(buffer.sinks.size(), 2U);
    expect_all(buffer.sinks[0], plan.frames);
    const SinkStatus& stopped = buffer.sinks[1];
    EXPECT_EQ(stopped.name, "troubled");
    EXPECT_EQ(stopped.accepted, plan.frames);
    EXPECT_EQ(stopped.written, 0U);
    EXPECT_EQ(stopped.errored, 4 * plan.stack) << "its own memory";
    EXPECT_EQ(stopped.dropped, plan.frames - 4 * plan.stack);
    EXPECT_TRUE(stopped.left_behind);
    // It had been given those images, and lost them: the run is not a good one.
    EXPECT_EQ(buffer.books.errored, 4 * plan.stack);
    EXPECT_EQ(buffer.errors[static_cast<std::size_t>(ErrorReason::storage)], 4 * plan.stack);
    ASSERT_TRUE(buffer.first_errored.has_value());
    EXPECT_NE(buffer.first_errored->text.find("sink troubled"), std::string::npos) << buffer.first_errored->text;
    chain.receiver->stop();
  }
  *go_on = true;
  go_on->notify_all();
}

TEST(Sinks, what_one_drops_by_policy_is_accepted_where_another_has_it) {
  const auto go_on = std::make_shared<std::atomic<bool>>(false);
  Plan plan = checked();
  plan.sinks.push_back(troubled({.go_on = go_on}, OnFull::drop));
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  ASSERT_TRUE(chain.emulator->wait(20));
  EXPECT_EVENTUALLY(chain.receiver->status().buffers[0].sinks[0].written >= plan.frames);
  *go_on = true;  // it comes back in time
  go_on->notify_all();
  chain.receiver->finish();
  ASSERT_TRUE(chain.receiver->wait(20));
  const receiver::BufferStatus buffer = chain.receiver->status().buffers[0];
  expect_all(buffer.sinks[0], plan.frames);
  EXPECT_EQ(buffer.sinks[1].written, 4 * plan.stack);
  EXPECT_EQ(buffer.sinks[1].dropped, plan.frames - 4 * plan.stack);
  EXPECT_EQ(buffer.books.accepted, plan.frames);
  EXPECT_EQ(buffer.books.errored, 0U);
  EXPECT_TRUE(buffer.books.balanced());
}

TEST(Sinks, what_every_sink_drops_is_errored) {
  const auto go_on = std::make_shared<std::atomic<bool>>(false);
  Plan plan;
  plan.sinks.push_back(troubled({.go_on = go_on}, OnFull::drop));
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  ASSERT_TRUE(chain.emulator->wait(20));
  EXPECT_EVENTUALLY(chain.receiver->status().buffers[0].to_write == 0);
  *go_on = true;
  go_on->notify_all();
  chain.receiver->finish();
  ASSERT_TRUE(chain.receiver->wait(20));
  const receiver::BufferStatus buffer = chain.receiver->status().buffers[0];
  EXPECT_TRUE(buffer.books.balanced());
  EXPECT_EQ(buffer.books.written, buffer.sinks[0].written);
  EXPECT_EQ(buffer.errors[static_cast<std::size_t>(ErrorReason::dropped)], buffer.sinks[0].dropped);
  EXPECT_GT(buffer.sinks[0].dropped, 0U);
  ASSERT_TRUE(buffer.first_errored.has_value());
  EXPECT_EQ(buffer.first_errored->reason, ErrorReason::dropped);
}

TEST(Sinks, what_one_cannot_store_the_other_has_and_the_run_says_which_sink_lost_it) {
  Plan plan = checked();
  plan.sinks.push_back(troubled({.fails_each = 10}));
  Chain chain(plan);
  ASSERT_TRUE(chain.play(20));
  const receiver::BufferStatus buffer = chain.receiver->status().buffers[0];
  expect_all(buffer.sinks[0], plan.frames);
  EXPECT_EQ(buffer.sinks[1].errored, plan.frames / 10);
  EXPECT_EQ(buffer.sinks[1].written, plan.frames - plan.frames / 10);
  EXPECT_EQ(buffer.books.errored, plan.frames / 10);
  EXPECT_TRUE(buffer.books.balanced());
  ASSERT_TRUE(buffer.first_errored.has_value());
  EXPECT_EQ(buffer.first_errored->index, 0U);
  EXPECT_EQ(buffer.first_errored->text, "sink troubled: the disk is full");
  EXPECT_EQ(buffer.sink_error, "sink troubled: the disk is full");
}

TEST(Sinks, images_that_two_sinks_lose_are_errored_once) {
  Plan plan;
  plan.sinks.push_back(troubled({.fails_each = 10}));
  plan.sinks.push_back(troubled({.fails_each = 4}));
  Chain chain(plan);
  ASSERT_TRUE(chain.play(20));
  const receiver::BufferStatus buffer = chain.receiver->status().buffers[0];
  EXPECT_EQ(buffer.sinks[1].name, "troubled_2");
  EXPECT_EQ(buffer.sinks[0].errored, 20U);
  EXPECT_EQ(buffer.sinks[1].errored, 50U);
  EXPECT_EQ(buffer.books.errored, 60U) << "every 20th is lost by both";
  EXPECT_TRUE(buffer.books.balanced());
}

TEST(Sinks, a_slow_one_that_is_waited_for_loses_nothing) {
  Plan plan = checked();
  plan.sinks.push_back(troubled({.delay_us = 3000}));
  Chain chain(plan);
  ASSERT_TRUE(chain.play(20));
  expect_books_equal_the_log(chain);
  const receiver::Status status = chain.receiver->status();
  for (const SinkStatus& sink : status.buffers[0].sinks) expect_all(sink, plan.frames);
}

TEST(Sinks, stacks_may_be_written_later_and_come_back_out_of_order) {
  Plan plan = checked();
  plan.frames = 2000;
  plan.sinks.emplace_back([](const Output& output) { return std::make_unique<LaterSink>(output.images); });
  Chain chain(plan);
  ASSERT_TRUE(chain.play(20));
  expect_books_equal_the_log(chain);
  const receiver::Status status = chain.receiver->status();
  for (const SinkStatus& sink : status.buffers[0].sinks) expect_all(sink, plan.frames);
}

TEST(Sinks, an_aborted_run_ends_beside_a_stopped_sink) {
  const auto go_on = std::make_shared<std::atomic<bool>>(false);
  Plan plan = checked();
  plan.frames = 100'000;
  plan.rate_hz = 500;
  plan.sinks.push_back(troubled({.go_on = go_on}, OnFull::drop));
  plan.sinks.back().patience_ns = 300'000'000;
  {
    Chain chain(plan);
    chain.receiver->start();
    chain.emulator->start();
    EXPECT_EVENTUALLY(chain.receiver->status().buffers[0].books.complete >= 100);
    const auto begin = std::chrono::steady_clock::now();
    chain.emulator->stop();
    chain.receiver->stop();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_EQ(chain.receiver->status().state, receiver::State::stopped);
  }
  *go_on = true;
  go_on->notify_all();
}

TEST(Sinks, a_buffer_without_one_is_refused) {
  receiver::Config config;
  config.memory = memory::MemoryKind::pageable;
  config.port = 0;
  config.buffers.emplace_back();
  receiver::BufferConfig& buffer = config.buffers.back();
  buffer.name = "full";
  buffer.width = buffer.height = 16;
  buffer.slots = 8;
  buffer.stack = 4;
  buffer.images = 10;
  buffer.deadline_ms = 1;
  buffer.dtps = {{.id = 0, .module = 0, .x = 0, .y = 0, .width = 16, .height = 16}};
  try {
    const receiver::Receiver receiver(config);
    FAIL() << "made";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("null"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rashpa::chain
