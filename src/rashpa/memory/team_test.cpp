// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/team.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace rashpa::memory {
namespace {

/// Counts how often each task of each phase ran; publishes the next phase from finished().
class Chain final : public Team::Work {
 public:
  Chain(unsigned threads, std::uint32_t phases, std::uint32_t most_tasks)
      : phases_(phases), most_tasks_(most_tasks), runs_(most_tasks), team_(threads, -1, "chain") {}

  void run_all() {
    team_.publish(*this, tasks());
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
      team_.publish(*this, tasks());
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

TEST(Team, a_phase_that_is_waited_for_has_done_every_task_once_with_the_caller_and_without) {
  for (const unsigned threads : {0U, 1U, 4U}) {
    Team team(threads, -1, "waited");
    for (std::uint32_t round = 0; round < 2000; ++round) {
      const std::uint32_t tasks = 1 + round % 29;
      std::vector<std::uint32_t> runs(tasks);  // written by one thread each
      team.run(tasks, [&](unsigned worker, std::uint32_t task) {
        EXPECT_LE(worker, threads);
        runs[task] += 1;
      });
      for (const std::uint32_t ran : runs) ASSERT_EQ(ran, 1U) << threads << " threads, round " << round;
    }
  }
}

TEST(Team, no_two_threads_have_the_same_number_at_once) {
  constexpr unsigned kThreads = 3;
  Team team(kThreads, -1, "numbers");
  std::vector<std::uint64_t> of_worker(kThreads + 1);  // a race here is one that tsan sees
  for (int round = 0; round < 200; ++round) {
    team.run(64, [&](unsigned worker, std::uint32_t /*task*/) { of_worker[worker] += 1; });
  }
  std::uint64_t all = 0;
  for (const std::uint64_t one : of_worker) all += one;
  EXPECT_EQ(all, 200U * 64);
}

TEST(Team, the_first_exception_of_a_phase_reaches_its_caller_and_the_next_phase_is_whole) {
  for (const unsigned threads : {0U, 1U, 4U}) {
    Team team(threads, -1, "throws");
    for (std::uint32_t bad = 0; bad < 20; ++bad) {
      std::atomic<std::uint32_t> ran{0};
      const auto throwing = [&](unsigned /*worker*/, std::uint32_t task) {
        ran.fetch_add(1);
        if (task == bad) throw std::runtime_error("task " + std::to_string(bad));
      };
      try {
        team.run(20, throwing);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "task " + std::to_string(bad));
      }
      EXPECT_GE(ran.load(), 1U);
      ran = 0;
      team.run(20, [&](unsigned /*worker*/, std::uint32_t /*task*/) { ran.fetch_add(1); });
      EXPECT_EQ(ran.load(), 20U);
    }
    EXPECT_THROW(team.run(50, [](unsigned, std::uint32_t) { throw std::bad_alloc(); }), std::bad_alloc);
  }
}

/// Tasks that go on until they are let go: more threads than tasks, and as many.
class Gate final : public Team::Work {
 public:
  void run(unsigned /*worker*/, std::uint32_t /*task*/) override {
    inside.fetch_add(1);
    inside.notify_all();
    open.wait(false);
  }
  std::atomic<unsigned> inside{0};
  std::atomic<bool> open{false};
};

TEST(Team, a_published_phase_goes_on_beside_its_publisher_and_is_finished_before_the_end) {
  for (const bool waits : {true, false}) {
    Gate gate;
    {
      Team team(3, -1, "gate");
      team.publish(gate, 3);
      for (unsigned inside = gate.inside; inside < 3; inside = gate.inside) gate.inside.wait(inside);
      gate.open = true;
      gate.open.notify_all();
      if (waits) team.wait();
    }
    EXPECT_EQ(gate.inside, 3U);
  }
}

}  // namespace
}  // namespace rashpa::memory
