// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cpu/team.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace rashpa::unit {
namespace {

/// Counts how often each task of each phase ran; publishes the next phase from finished().
class Chain final : public Team::Work {
 public:
  Chain(unsigned threads, std::uint32_t phases, std::uint32_t most_tasks)
      : phases_(phases), most_tasks_(most_tasks), runs_(most_tasks), team_(threads, -1, *this) {}

  void run_all() {
    team_.publish(tasks());
    done_.wait(false);
  }
  std::uint64_t total = 0;
  std::uint64_t expected = 0;
  std::uint32_t wrong = 0;

  void run(unsigned /*worker*/, std::uint32_t task) noexcept override { runs_[task].fetch_add(1); }
  void finished() noexcept override {
    for (std::uint32_t task = 0; task < most_tasks_; ++task) {
      const std::uint32_t ran = runs_[task].exchange(0);
      total += ran;
      wrong += ran != (task < tasks() ? 1U : 0U) ? 1 : 0;
    }
    expected += tasks();
    phase_ += 1;
    if (phase_ < phases_) {
      team_.publish(tasks());
    } else {
      done_.store(true);
      done_.notify_all();
    }
  }

 private:
  [[nodiscard]] std::uint32_t tasks() const { return 1 + phase_ % most_tasks_; }
  const std::uint32_t phases_;
  const std::uint32_t most_tasks_;
  std::uint32_t phase_ = 0;
  std::vector<std::atomic<std::uint32_t>> runs_;
  std::atomic<bool> done_{false};
  Team team_;
};

TEST(Team, every_task_of_every_phase_runs_once) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    Chain chain(threads, 20'000, 13);
    chain.run_all();
    EXPECT_EQ(chain.wrong, 0U) << threads << " threads";
    EXPECT_EQ(chain.total, chain.expected);
  }
}

TEST(Team, threads_that_never_worked_end) {
  for (int round = 0; round < 20; ++round) Chain(3, 1, 1);
}

TEST(Team, phase_numbers_may_wrap) {
  Chain chain(2, 70'000, 1);  // more than 2^16
  chain.run_all();
  EXPECT_EQ(chain.wrong, 0U);
}

}  // namespace
}  // namespace rashpa::unit
