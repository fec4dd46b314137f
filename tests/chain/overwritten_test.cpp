// SPDX-License-Identifier: Apache-2.0
/// A source without flow control that is too fast for its receiver, over links that cannot refuse a write.
#include <gtest/gtest.h>

#include "chain.hpp"
#include "checks.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::chain {
namespace {

/// Holds the first stack that it gets until it is told to go on, and asks then, as every sink does, whether what it has
/// is still worth something.
class SlowSink final : public sink::Sink {
 public:
  explicit SlowSink(const std::atomic<bool>& go_on) : go_on_(&go_on) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    go_on_->wait(false);
    const auto images = stack.view();
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].decision != Decision::accepted) continue;
      if (stack.intact(images[i])) {
        ++images_;
      } else {
        results[i] = ErrorReason::overwritten;
      }
    }
    return sink::Put::done;
  }
  void close(const Books&) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override {
    return {.images_written = images_, .bytes_written = 0, .bytes_stored = 0};
  }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  const std::atomic<bool>* go_on_;
  std::atomic<std::uint64_t> images_{0};
};

TEST(Overwritten, images_are_errored_and_the_books_balance) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the source writes what the receiver reads: that is what is tested";
#endif
  std::atomic<bool> go_on{false};
  Plan plan;
  plan.link = "pcie";
  plan.flow = link::Flow::paced;
  plan.rate_hz = 500;  // the link's thread keeps up with that
  plan.frames = 64;
  plan.stack = 4;
  plan.slots = 8;
  plan.deadline_ms = 10'000;
  plan.sinks.emplace_back([&go_on](const receiver::Output&) { return std::make_unique<SlowSink>(go_on); });
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  EXPECT_TRUE(chain.emulator->wait(60));
  // Both stacks of the ring have come and none was given back: the first is held by the sink, the second waits for it.
  go_on = true;
  go_on.notify_all();
  chain.receiver->finish();
  ASSERT_TRUE(chain.receiver->wait(60));
  const receiver::Status status = chain.receiver->status();
  const Books& books = status.buffers[0].books;
  EXPECT_TRUE(books.balanced());
  EXPECT_EQ(books.expected, 64U);
  EXPECT_EQ(books.accepted, 0U) << "all slots have been written again";
  EXPECT_GT(books.errored, plan.stack) << "the second stack before the sink had it, the first while it had it";
  EXPECT_LE(books.errored, 2 * plan.stack);
  EXPECT_EQ(status.link["overwritten_images"], books.errored);
  EXPECT_EQ(status.buffers[0].errors[static_cast<std::size_t>(ErrorReason::overwritten)], books.errored);
  ASSERT_TRUE(status.buffers[0].first_errored.has_value());
  EXPECT_EQ(status.buffers[0].first_errored->index, 0U);
  EXPECT_EQ(status.buffers[0].first_errored->reason, ErrorReason::overwritten);
  EXPECT_EQ(books.missing, 64 - books.accepted - books.errored) << "the later images found no free slot";
  for (const auto& dtp : status.buffers[0].dtps) {
    EXPECT_EQ(dtp.counts.losses[static_cast<std::size_t>(link::Loss::overrun)], dtp.counts.missing);
  }
}

}  // namespace
}  // namespace rashpa::chain
