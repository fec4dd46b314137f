// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Stacks, a sink and an owner for tests of a sink's line and its parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/receiver/sinks/sink_line.hpp"

namespace rashpa::receiver::testing {

inline constexpr std::uint32_t kStack = 2, kPixels = 6;
constexpr std::uint64_t kImages = 20;

inline sink::Output output() {
  return {.buffer = "full", .width = 3, .height = 2, .pixel = PixelType::u16, .stack = kStack, .images = kImages};
}

/// Stacks as the unit leaves them: image 3 of each five is vetoed; all pixels are the image's number.
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
inline constexpr std::uint64_t kAccepted = 16;

/// An owner that records the calls of a line.
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

/// A sink that keeps all its input. A test can make it stop, fail, or slow down.
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

/// A line with a TestSink, its stacks and its owner.
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

/// A guard that reports some images as overwritten.
struct Careless final : SlotGuard {
  [[nodiscard]] bool overwritten(const StackImage& image) const noexcept override { return image.index == 1; }
};

}  // namespace rashpa::receiver::testing
