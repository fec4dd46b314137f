// SPDX-License-Identifier: Apache-2.0
/// What a node does to its engine: one thread gives orders, another asks for the status all the time, a third waits for
/// the end, and a fourth looks at images and tables. Under the thread sanitizer (make tsan) this proves that they may.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "chain.hpp"
#include "checks.hpp"
#include "rashpa/core/testing/testing.hpp"

namespace rashpa::chain {
namespace {

/// Asks for everything there is, as the node's threads do, from its making to its end.
class Watchers {
 public:
  explicit Watchers(const Chain& chain) : chain_(chain) {
    threads_.emplace_back([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        decided_ = chain_.receiver->status().buffers[0].books.complete;
        sent_ = chain_.emulator->status().dtps[0].images_sent;
        (void)chain_.emulator->injected();
        std::this_thread::yield();  // wait: until it is stopped
      }
    });
    threads_.emplace_back([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        (void)chain_.receiver->completeness(0);
        (void)chain_.receiver->decisions(0);
        (void)chain_.receiver->preview(0);
        (void)chain_.emulator->fates(0);
        (void)chain_.receiver->endpoints();
        (void)chain_.emulator->endpoints();
        std::this_thread::yield();  // wait: until it is stopped
      }
    });
    threads_.emplace_back([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        (void)chain_.receiver->wait(0.01);
        (void)chain_.emulator->wait(0.01);
      }
    });
  }
  [[nodiscard]] std::uint64_t decided() const { return decided_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  const Chain& chain_;
  std::atomic<std::uint64_t> decided_{0}, sent_{0};
  std::vector<std::jthread> threads_;  // the last member: they end before what they use
};

class Watched : public testing::TestWithParam<const char*> {
 protected:
  static Plan plan(std::uint64_t frames) {
    Plan plan;
    plan.link = GetParam();
    plan.frames = frames;
    plan.deadline_ms = 500;
    if (plan.link == "roce") {
      plan.faults = {.seed = 8,
                     .drop = 0.001,
                     .duplicate = 0.001,
                     .reorder = 0.001,
                     .corrupt = 0.001,
                     .stall = 0,
                     .stall_us = 0,
                     .dead_modules = {}};
    }
    return plan;
  }
};

TEST_P(Watched, a_run_that_is_looked_at_all_the_time_keeps_its_books) {
  Chain chain(checked(plan(2000)));
  const Watchers watchers(chain);
  ASSERT_TRUE(chain.play(120));
  EXPECT_TRUE(chain.receiver->status().buffers[0].books.balanced());
  expect_books_equal_the_log(chain);
}

TEST_P(Watched, a_run_that_is_paused_resumed_and_ended_from_several_threads_ends_once) {
  Chain chain(checked(plan(1'000'000)));
  const Watchers watchers(chain);
  chain.receiver->start();
  chain.emulator->start();
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = watchers.decided();
    chain.emulator->pause();
    chain.emulator->resume();
    ASSERT_EVENTUALLY(watchers.decided() >= before + 20);
  }
  {
    const std::jthread late([&] { chain.emulator->stop(); });  // as when Abort meets an order that took too long
    const std::jthread other([&] { chain.receiver->stop(); });
    chain.emulator->stop();
    chain.receiver->stop();
  }
  EXPECT_EQ(chain.emulator->status().state, emulator::State::stopped);
  EXPECT_TRUE(chain.receiver->status().buffers[0].books.balanced());
}

INSTANTIATE_TEST_SUITE_P(Links, Watched, testing::Values("roce", "pcie"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rashpa::chain
