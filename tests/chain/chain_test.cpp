// SPDX-License-Identifier: Apache-2.0
#include "chain.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "checks.hpp"
#include "rashpa/core/testing/testing.hpp"

namespace rashpa::chain {
namespace {

TEST(Chain, every_pixel_of_every_image_arrives_and_the_books_balance) {
  Chain chain(checked());
  ASSERT_TRUE(chain.play());
  const receiver::Status status = chain.receiver->status();
  const Books& books = status.buffers[0].books;
  EXPECT_EQ(books.complete, 200U);
  EXPECT_EQ(books.written, 200U);
  EXPECT_TRUE(books.balanced());
  EXPECT_EQ(status.first_incomplete, "");
  EXPECT_EQ(status.state, receiver::State::finished);
  expect_books_equal_the_log(chain);
}

TEST(Chain, no_time_has_passed_for_a_source_whose_first_frame_is_not_due_yet) {
  for (const double rate_hz : {0.0, 1000.0}) {
    Plan plan;
    plan.rate_hz = rate_hz;
    Chain chain(checked(plan));
    chain.receiver->start();
    chain.emulator->start();
    EXPECT_GE(chain.emulator->status().elapsed_s, 0) << rate_hz;
    chain.emulator->stop();
    chain.receiver->stop();
  }
}

struct Kind {
  const char* name;
  double drop, duplicate, reorder, corrupt;
  link::Packetisation packetisation;
  bool offload;
};

class Faults : public testing::TestWithParam<Kind> {};

TEST_P(Faults, the_books_equal_the_log) {
  const Kind& kind = GetParam();
  Plan plan;
  plan.frames = 3000;
  plan.faults = {.seed = 42,
                 .drop = kind.drop,
                 .duplicate = kind.duplicate,
                 .reorder = kind.reorder,
                 .corrupt = kind.corrupt,
                 .stall = 0.001,
                 .stall_us = 300,
                 .dead_modules = {}};
  plan.roce.packetisation = kind.packetisation;
  plan.roce.gso = plan.roce.gro = kind.offload;
  plan.roce.pmtu = 256;
  plan.deadline_ms = 500;
  Chain chain(checked(plan));
  ASSERT_TRUE(chain.play());
  const emulator::Injected injected = chain.emulator->injected();
  EXPECT_EQ(injected.drop > 0, kind.drop > 0);
  EXPECT_EQ(injected.corrupt > 0, kind.corrupt > 0);
  expect_books_equal_the_log(chain);
  const Books books = chain.receiver->status().buffers[0].books;
  if (kind.drop > 0 || kind.corrupt > 0) {
    EXPECT_GT(books.partial, 0U);
    EXPECT_NE(chain.receiver->status().first_incomplete, "");
  } else if (kind.packetisation == link::Packetisation::only) {
    EXPECT_EQ(books.complete, 3000U) << "duplicates and changes of order lose nothing";
  }
  EXPECT_EQ(chain.receiver->status().link["icrc_bad"], injected.corrupt);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Faults,
                         testing::Values(Kind{"drop", 0.002, 0, 0, 0, link::Packetisation::only, true},
                                         Kind{"duplicate", 0, 0.002, 0, 0, link::Packetisation::only, true},
                                         Kind{"reorder", 0, 0, 0.002, 0, link::Packetisation::only, true},
                                         Kind{"corrupt", 0, 0, 0, 0.002, link::Packetisation::only, true},
                                         Kind{"mixed", 0.001, 0.001, 0.001, 0.001, link::Packetisation::only, true},
                                         Kind{"mixed_plain_sockets", 0.001, 0.001, 0.001, 0.001,
                                              link::Packetisation::only, false},
                                         Kind{"mixed_long_messages", 0.001, 0.001, 0.001, 0.001,
                                              link::Packetisation::first_middle_last, true}),
                         [](const auto& test) { return test.param.name; });

TEST(Chain, a_module_that_dies_leaves_partial_images_from_its_frame_on) {
  Plan plan;
  plan.frames = 400;
  plan.faults.dead_modules = {{1, 100}};
  plan.deadline_ms = 100;
  Chain chain(checked(plan));
  ASSERT_TRUE(chain.play());
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.buffers[0].books.complete, 100U);
  EXPECT_EQ(status.buffers[0].books.partial, 300U);
  EXPECT_EQ(status.buffers[0].dtps[1].counts.missing, 300U);
  EXPECT_EQ(status.first_incomplete,
            "buffer full image 100 (frame 100): DTP 1 of module 1 sent nothing before the deadline");
  expect_books_equal_the_log(chain);
}

TEST(Chain, an_emulator_that_is_killed_leaves_balanced_books_and_the_first_missing_image) {
  Plan plan;
  plan.frames = 100'000;
  plan.rate_hz = 2000;
  Chain chain(checked(plan));
  chain.receiver->start();
  chain.emulator->start();
  ASSERT_EVENTUALLY(chain.receiver->status().buffers[0].books.complete >= 50);
  chain.emulator->stop();
  const auto start = std::chrono::steady_clock::now();
  {
    const std::jthread another([&] { chain.receiver->stop(); });  // as when an Abort meets the end of a run
    chain.receiver->stop();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  const receiver::Status status = chain.receiver->status();
  const Books& books = status.buffers[0].books;
  EXPECT_TRUE(books.balanced());
  EXPECT_GE(books.complete, 50U);
  EXPECT_EQ(books.expected, 100'000U);
  EXPECT_NE(status.first_incomplete.find("buffer full image"), std::string::npos);
}

TEST(Chain, the_next_run_works_on_the_same_machine) {
  for (int run = 0; run < 3; ++run) {
    Chain chain(checked());
    ASSERT_TRUE(chain.play());
    EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, 200U);
  }
}

}  // namespace
}  // namespace rashpa::chain
