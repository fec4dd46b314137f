// SPDX-License-Identifier: Apache-2.0
/// Two DTPs on one link thread, of which one is dead, late, or stops: the other goes on, and the run comes to its end.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "chain.hpp"
#include "checks.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::chain {
namespace {

enum class Trouble : std::uint8_t { dead, dies, late, stalls };

struct Way {
  const char* name;
  const char* link = "roce";
  link::Transport transport = link::Transport::uc;
};

using Case = std::tuple<Way, link::Flow, Trouble>;

class Uneven : public ::testing::TestWithParam<Case> {
 protected:
  static Plan plan() {
    const auto& [way, flow, trouble] = GetParam();
    Plan plan;
    plan.link = way.link;
    plan.roce.transport = way.transport;
    plan.flow = flow;
    plan.frames = 1000;
    plan.rate_hz = 4000;
    plan.deadline_ms = 200;
    switch (trouble) {
      case Trouble::dead:
        plan.faults.dead_modules = {{1, 0}};
        break;
      case Trouble::dies:
        plan.faults.dead_modules = {{1, 333}};
        break;
      case Trouble::late:
        plan.late = true;
        break;
      case Trouble::stalls:
        plan.faults.seed = 5;
        plan.faults.stall = 0.01;
        plan.faults.stall_us = 20'000;
        break;
    }
    return plan;
  }
};

/// The books are the log's. On a machine that leaves a source no processor for a whole deadline, the receiver closes
/// images that come later: the losses count them, and no image is better than the log has it.
void expect_books_of_the_log_or_the_deadline(const Chain& chain, const receiver::Status& status) {
  const std::vector<Completeness> log = chain.fates();
  const auto of_the_log = static_cast<std::uint64_t>(
      std::count_if(log.begin(), log.end(), [](Completeness one) { return one != Completeness::complete; }));
  std::uint64_t closed = 0;
  for (const receiver::DtpStatus& dtp : status.buffers[0].dtps) {
    closed += dtp.counts.losses[static_cast<std::size_t>(link::Loss::deadline)];
  }
  if (closed <= of_the_log) return expect_books_equal(chain, log);
  const std::vector<Completeness> found = chain.receiver->completeness(0);
  ASSERT_EQ(found.size(), log.size());
  std::uint64_t worse = 0;
  for (std::size_t image = 0; image < log.size(); ++image) {
    EXPECT_GE(found[image], log[image]) << "image " << image << " is better than the log has it";
    worse += found[image] > log[image] ? 1 : 0;
  }
  EXPECT_LE(worse, closed) << "the deadline explains so many";
}

TEST_P(Uneven, the_run_ends_and_every_image_of_every_dtp_is_in_the_books) {
  const Plan set_up = plan();
  Chain chain(set_up);
  const std::int64_t start = now_ns();
  ASSERT_TRUE(chain.play(20)) << "stalled";
  const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
  const receiver::Status status = chain.receiver->status();
  EXPECT_TRUE(status.buffers[0].books.balanced());
  EXPECT_EQ(status.buffers[0].books.expected, set_up.frames);
  for (const receiver::DtpStatus& dtp : status.buffers[0].dtps) {
    EXPECT_EQ(dtp.counts.complete + dtp.counts.partial + dtp.counts.missing, set_up.frames);
  }
  const auto& [way, flow, trouble] = GetParam();
  for (const receiver::DtpStatus& dtp : status.buffers[0].dtps) {
    const auto& losses = dtp.counts.losses;
    EXPECT_EQ(dtp.counts.complete + std::accumulate(losses.begin() + 1, losses.end(), std::uint64_t{0}), set_up.frames)
        << "each image that is not complete has a reason";
  }
  // A paced source does not wait: where the receiver gets no processor for the whole run, it loses all.
  if (flow == link::Flow::credits) {
    EXPECT_GT(status.buffers[0].dtps[0].counts.complete, 0U);
    if (trouble != Trouble::late) expect_books_of_the_log_or_the_deadline(chain, status);
  }
  if (way.transport == link::Transport::rc) {
    std::uint64_t repeated = 0;
    for (const auto& dtp : chain.emulator->status().dtps) repeated += dtp.link["retransmitted_packets"];
    EXPECT_LT(static_cast<double>(repeated) / seconds, 100'000) << "receiver-not-ready is paced by its timer";
  }
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  constexpr const char* kTroubles[] = {"dead", "dies", "late", "stalls"};
  const auto& [way, flow, trouble] = info.param;
  return std::string(way.name) + (flow == link::Flow::paced ? "_paced_" : "_credits_") +
         kTroubles[static_cast<std::size_t>(trouble)];
}

using link::Flow;
using link::Transport;
INSTANTIATE_TEST_SUITE_P(Links, Uneven,
                         ::testing::Combine(::testing::Values(Way{"uc"}, Way{"rc", "roce", Transport::rc},
                                                              Way{"ud", "roce", Transport::ud}, Way{"pcie", "pcie"}),
                                            ::testing::Values(Flow::paced, Flow::credits),
                                            ::testing::Values(Trouble::dead, Trouble::dies, Trouble::late,
                                                              Trouble::stalls)),
                         name_of);

TEST(End, comes_one_deadline_after_the_source_even_when_20000_frames_never_came) {
  Plan plan;
  plan.frames = 20'000;
  plan.deadline_ms = 500;
  plan.faults.dead_modules = {{0, 50}, {1, 50}};
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  ASSERT_TRUE(chain.emulator->wait(20));
  const std::int64_t start = now_ns();
  chain.receiver->finish();
  ASSERT_TRUE(chain.receiver->wait(20)) << "each empty stack waits for its own deadline";
  EXPECT_LT(now_ns() - start, 5'000'000'000);
  expect_books_equal_the_log(chain);
}

class Skipping : public ::testing::TestWithParam<Way> {};

// The receiver begins to run when its source, which does not wait, is many rings ahead.
TEST_P(Skipping, a_source_far_ahead_is_granted_slots_again_and_all_that_it_left_out_is_in_the_books) {
  Plan set_up = checked();
  set_up.link = GetParam().link;
  set_up.roce.transport = GetParam().transport;
  set_up.on_full = transfer::OnFull::skip;
  set_up.frames = 2000;
  set_up.rate_hz = 1000;
  Chain chain(set_up);
  chain.emulator->start();
  const auto skipped = [&] {
    std::uint64_t sum = 0;
    for (const auto& dtp : chain.emulator->status().dtps) sum += dtp.images_skipped;
    return sum;
  };
  ASSERT_EVENTUALLY(skipped() >= std::uint64_t{20} * set_up.slots);
  chain.receiver->start();
  ASSERT_TRUE(chain.emulator->wait(20));
  chain.receiver->finish();
  ASSERT_TRUE(chain.receiver->wait(20));
  expect_books_equal_the_log(chain);
  EXPECT_GT(chain.receiver->status().buffers[0].books.complete, set_up.frames / 10);
  const receiver::Status status = chain.receiver->status();
  for (const receiver::DtpStatus& dtp : status.buffers[0].dtps) {
    EXPECT_EQ(dtp.counts.losses[static_cast<std::size_t>(link::Loss::deadline)], 0U)
        << "nothing waited for its deadline";
  }
}

INSTANTIATE_TEST_SUITE_P(Links, Skipping,
                         ::testing::Values(Way{"uc"}, Way{"rc", "roce", Transport::rc},
                                           Way{"ud", "roce", Transport::ud}, Way{"pcie", "pcie"}),
                         [](const auto& param) { return param.param.name; });

// The latest frame that any source has begun is the end of a run that is stopped: no image behind it would be due.
TEST(Paused, one_that_is_through_has_begun_all_its_frames) {
  Plan plan;
  plan.frames = 6;
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  ASSERT_TRUE(chain.emulator->wait(60));
  chain.emulator->pause();
  EXPECT_EQ(chain.emulator->begun(), 6U);
  chain.receiver->finish();
  EXPECT_TRUE(chain.receiver->wait(60));
}

TEST(Paused, all_dtps_stop_at_one_frame_and_go_on_at_the_rate_that_they_are_given) {
  Plan plan;
  plan.frames = 10'000;
  plan.rate_hz = 4000;
  plan.bands = 2;
  plan.deadline_ms = 60'000;
  plan.faults.seed = 5;
  plan.faults.stall = 0.02;  // one is ahead, another behind
  plan.faults.stall_us = 3000;
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  const auto all_have = [&](std::uint64_t images) {
    EXPECT_EVENTUALLY(
        std::ranges::all_of(chain.emulator->status().dtps, [&](const auto& dtp) { return dtp.images_sent >= images; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // wait: that no more comes is the subject
    for (const auto& dtp : chain.emulator->status().dtps) EXPECT_EQ(dtp.images_sent, images);
  };
  ASSERT_EVENTUALLY(chain.emulator->status().dtps[0].images_sent >= 200);
  chain.emulator->pause();
  const std::uint64_t frame = chain.emulator->begun();
  all_have(frame);
  chain.emulator->pause(frame + 40);
  all_have(frame + 40);
  EXPECT_THROW(chain.emulator->resume(-1), ConfigError);
  chain.emulator->resume(1e-3);  // the next is due at once, the one behind it in a quarter of an hour
  all_have(frame + 41);
  chain.emulator->pause();
  chain.emulator->resume(1e6);
  ASSERT_TRUE(chain.emulator->wait(60));
  chain.receiver->finish();
  ASSERT_TRUE(chain.receiver->wait(60));
  EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, plan.frames);
}

}  // namespace
}  // namespace rashpa::chain
