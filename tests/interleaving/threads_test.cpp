// SPDX-License-Identifier: Apache-2.0
/// What threads of one process share without a lock, in all its interleavings: the ring of the data path, the sleep
/// word of a doorbell, the ticket word of a team.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/futex.h>

#include <bit>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <latch>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/memory/cpu_set.hpp"
//
#include "explored_begin.hpp"
#define pause_spinning() break
#define place_this_thread(name, processor) (static_cast<void>(name), static_cast<void>(processor))
// NOLINTBEGIN(bugprone-suspicious-include)
#include "rashpa/core/system/doorbell.cpp"
#include "rashpa/memory/ring.hpp"
#include "rashpa/memory/team.cpp"
// NOLINTEND(bugprone-suspicious-include)
#undef pause_spinning
#undef thread
#undef atomic

namespace rashpa::interleaving {
namespace {

void expect_good(const std::function<void()>& program, Bound bound = {}) {
  const Outcome outcome = explore(program, bound);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_TRUE(outcome.all) << outcome.runs << " runs, and there are more";
  ::testing::Test::RecordProperty("runs", std::to_string(outcome.runs));
}

TEST(Interleavings, a_ring_brings_all_items_in_order_and_whole) {
  expect_good(
      [] {
        memory::Ring<Plain> ring(2);
        ExploredThread producer([&] {
          int next = 1;
          for (int attempt = 0; attempt < 5; ++attempt) {
            if (ring.try_push(next) == memory::Push::done) ++next;
          }
        });
        int last = 0;
        for (int attempt = 0; attempt < 5; ++attempt) {
          Plain item;
          if (!ring.try_pop(item)) continue;
          check(item.read() == last + 1, fmt::format("item {} after item {}", item.read(), last));
          last = item.read();
        }
        producer.join();
        check(ring.size() <= ring.capacity(), "more items than there is room for");
      },
      {.deviations = 5});
}

TEST(Interleavings, a_full_ring_has_room_when_it_says_so) {
  expect_good(
      [] {
        memory::Ring<Plain> ring(2);
        ExploredThread producer([&] {
          for (int next = 1; next <= 4; ++next) {
            if (!ring.full()) ring.push_must(next);
          }
        });
        Plain item;
        for (int attempt = 0; attempt < 3; ++attempt) static_cast<void>(ring.try_pop(item));
        producer.join();
      },
      {.deviations = 5});
}

// Two items, each with a ring; the taker sleeps while there is none.
void push_and_ring(memory::Ring<Plain>& items, Doorbell& bell) {
  for (int item = 1; item <= 2; ++item) {
    items.push_must(item);
    bell.ring();
  }
}
void take_two(memory::Ring<Plain>& items, Doorbell& bell) {
  for (int taken = 0; taken < 2;) {
    const std::uint32_t seen = bell.count();
    Plain item;
    if (items.try_pop(item)) {
      ++taken;
    } else {
      bell.wait(seen, std::chrono::hours(1));
    }
  }
}

TEST(Interleavings, no_ring_of_a_doorbell_is_slept_through) {
  expect_good(
      [] {
        memory::Ring<Plain> items(2);
        Doorbell bell;
        ExploredThread sleeper([&] { take_two(items, bell); });
        push_and_ring(items, bell);
        sleeper.join();
      },
      {.deviations = 5});
}

TEST(Interleavings, a_doorbell_behind_another_is_heard) {
  expect_good(
      [] {
        memory::Ring<Plain> items(2);
        Doorbell behind;
        Doorbell bell(behind);
        ExploredThread sleeper([&] { take_two(items, behind); });
        push_and_ring(items, bell);
        sleeper.join();
      },
      {.deviations = 4});
}

TEST(Interleavings, each_task_of_a_team_is_done_once_and_waited_for) {
  expect_good(
      [] {
        Plain done[4];
        Plain told;
        memory::Team team(1, -1, "team");
        for (int phase = 0; phase < 2; ++phase) {
          told = Plain(phase);
          Plain* const of_phase = done + 2 * phase;
          team.run(2, [&](unsigned, std::uint32_t task) {
            check(told.read() == phase, "a task has the words of another phase");
            of_phase[task] = Plain(of_phase[task].read() + 1);
          });
          for (int task = 0; task < 2; ++task) check(of_phase[task].read() == 1, "a task was not done once");
        }
      },
      {.deviations = 3});
}

// That what is wrong is found: each as it was once written, or easily could be.
template <typename Program>
void expect_found(const Program& program, std::string_view what) {
  const Outcome outcome = explore(program, {.deviations = 3});
  EXPECT_NE(outcome.failure.find(what), std::string::npos) << outcome.runs << " runs: " << outcome.failure;
}

TEST(Interleavings, a_head_that_releases_nothing_is_found) {
  expect_found(
      [] {
        Explored<int> head{0};
        Plain item;
        ExploredThread producer([&] {
          item = Plain(7);
          head.store(1, std::memory_order_relaxed);
        });
        if (head.load(std::memory_order_acquire) == 1) static_cast<void>(item.read());
        producer.join();
      },
      "a value is read while another thread may write it");
}

TEST(Interleavings, words_that_are_stored_and_not_seen_by_each_other_are_found) {
  for (const auto order : {std::memory_order_seq_cst, std::memory_order_acq_rel}) {
    const auto program = [order] {
      const auto load = order == std::memory_order_seq_cst ? order : std::memory_order_acquire;
      const auto store = order == std::memory_order_seq_cst ? order : std::memory_order_release;
      Explored<int> one{0}, other{0};
      int seen = 0;
      ExploredThread thread([&] {
        one.store(1, store);
        seen = other.load(load);
      });
      other.store(1, store);
      const int here = one.load(load);
      thread.join();
      check(here + seen > 0, "neither sees the other");
    };
    if (order == std::memory_order_seq_cst) {
      expect_good(program);
    } else {
      expect_found(program, "neither sees the other");
    }
  }
}

TEST(Interleavings, a_sleeper_that_looks_before_it_says_so_is_found) {
  expect_found(
      [] {
        Explored<std::uint32_t> count{0};
        Explored<std::uint32_t> sleepers{0};
        ExploredThread sleeper([&] {
          const bool quiet = count.load() == 0;
          sleepers.fetch_add(1);
          if (quiet) futex(count, &count, FUTEX_WAIT, count.load(std::memory_order_relaxed));
        });
        count.fetch_add(1);
        if (sleepers.load() > 0) futex(count, &count, FUTEX_WAKE, 1);
        sleeper.join();
      },
      "all threads wait, and nobody wakes one");
}

}  // namespace
}  // namespace rashpa::interleaving
