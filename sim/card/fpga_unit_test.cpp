// SPDX-License-Identifier: Apache-2.0
// Unit fpga on a simulated card: the contract of all units, and what is its own.
#include "rashpa/unit/fpga/fpga_unit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "card_directory.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/unit/contract/bench.hpp"
#include "rashpa/unit/unit_contract.hpp"
#include "unit_testing.hpp"

namespace rashpa::unit {
namespace {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests
using sim::testing::UnitOfTest;

/// One for all tests of the contract.
UnitOfTest& simulated() {
  static UnitOfTest unit;
  return unit;
}

Contestant contestant(const UnitOfTest& unit) {
  return {.name = "fpga",
          .choice = {.kind = Kind::fpga, .device = unit.path().string()},
          .resident = true,
          .photons_only = true};
}

INSTANTIATE_TEST_SUITE_P(Fpga, UnitContract, testing::Values(contestant(simulated())),
                         [](const auto& one) { return one.param.name; });

TEST(FpgaUnitTest, a_card_belongs_to_one_unit) {
  const UnitOfTest unit;
  const Bench first(contestant(unit), vetoing());
  EXPECT_THROW(Bench(contestant(unit), vetoing()), StateError);
}

TEST(FpgaUnitTest, stacks_for_which_the_card_has_no_room_are_refused) {
  const UnitOfTest unit;
  try {
    const Bench bench(contestant(unit), vetoing(), 65);
    FAIL() << "taken";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("use the 64 of the card or fewer"));
  }
}

TEST(FpgaUnitTest, what_cannot_be_a_card_is_refused) {
  Contestant nowhere = contestant(simulated());
  nowhere.choice.device = "/nowhere";
  EXPECT_THROW(Bench(nowhere, vetoing()), FileError);
  Contestant persistent = contestant(simulated());
  persistent.choice.trigger = Trigger::persistent;
  EXPECT_THROW(Bench(persistent, vetoing()), ConfigError);
}

TEST(FpgaUnitTest, a_card_of_another_design_is_refused) {
  const TemporaryFolder folder;
  const sim::CardDirectory sender(folder.path(), card::kCardPage);
  Contestant who = contestant(simulated());
  who.choice.device = folder.path().string();
  try {
    const Bench bench(who, full());
    FAIL() << "taken";
  } catch (const ResourceError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("processing unit"));
  }
}

TEST(FpgaUnitTest, a_card_that_does_not_answer_is_refused_when_a_unit_is_made) {
  UnitOfTest unit;
  unit.held = true;
  ASSERT_EVENTUALLY(unit.still);
  const auto began = std::chrono::steady_clock::now();
  try {
    const Bench bench(contestant(unit), full());
    FAIL() << "taken";
  } catch (const StateError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("check that it runs"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

TEST(FpgaUnitTest, card_memory_that_has_no_room_for_lists_is_refused_with_what_they_take) {
  constexpr std::uint64_t kMemory = 300 * card::kCardPage;
  const UnitOfTest unit(kMemory, kMemory);
  EXPECT_LE(device_bytes_of(*Bench(contestant(unit), vetoing()).unit), kMemory);
  try {
    const Bench bench(contestant(unit), full());
    FAIL() << "taken";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(kMemory)));
    EXPECT_THAT(error.what(), testing::HasSubstr("take smaller stacks"));
  }
}

/// What the card may be asked for: counts, or lists beside them.
class FpgaUnitOf : public testing::TestWithParam<bool> {
 protected:
  static Recipe recipe() { return GetParam() ? full() : vetoing(); }
};
INSTANTIATE_TEST_SUITE_P(Pipelines, FpgaUnitOf, testing::Bool(),
                         [](const auto& one) { return one.param ? "lists" : "counts"; });

TEST_P(FpgaUnitOf, a_card_that_stops_answering_makes_images_errored_and_the_unit_ends) {
  UnitOfTest unit;
  Bench bench(contestant(unit), recipe());
  unit.held = true;
  ASSERT_EVENTUALLY(unit.still);
  for (Stack& stack : bench.ring.all) bench.unit->submit(&stack);
  for (Stack& stack : bench.ring.all) ASSERT_EQ(bench.wait(), &stack);
  for (const Stack& stack : bench.ring.all) {
    for (const StackImage& image : stack.view()) EXPECT_EQ(image.decision, Decision::errored);
  }
  EXPECT_THAT(bench.unit->error(), testing::HasSubstr("check that it runs"));
  bench.unit->stop();
}

TEST_P(FpgaUnitOf, a_card_that_stops_in_the_middle_of_a_stack_holds_up_nobody_and_goes_on_with_the_next_unit) {
  UnitOfTest card;
  constexpr std::uint32_t kImages = 64;
  Bench bench(contestant(card), recipe(), kImages);
  for (Stack& stack : bench.ring.all) bench.unit->submit(&stack);
  ASSERT_EQ(bench.wait(), bench.ring.all.data());
  card.held = true;
  const auto began = std::chrono::steady_clock::now();
  bench.unit->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
  std::uint32_t errored = 0;
  for (Stack& stack : bench.ring.all) {
    if (&stack != bench.ring.all.data()) {
      ASSERT_EQ(bench.unit->take(), &stack);
    }
    for (const StackImage& image : stack.view()) {
      ASSERT_NE(image.decision, Decision::none);
      if (image.decision == Decision::errored) {
        errored += 1;
      } else {
        bench.expect_as_reference(image);
      }
    }
  }
  EXPECT_GT(errored, 0U);
  EXPECT_THAT(bench.unit->error(), testing::HasSubstr("check that it runs"));
  bench.unit.reset();
  card.held = false;
  Bench after(contestant(card), recipe());
  after.run_all();
  after.expect_all_as_references();
}

TEST_P(FpgaUnitOf, stopped_in_every_state_it_gives_stacks_back_and_the_next_unit_has_a_good_card) {
  const UnitOfTest card;
  constexpr std::uint32_t kImages = 16;
  std::uint32_t errored = 0, decided = 0;
  // From before the first word comes in to behind the last stack.
  for (int step = 0; step < 30; ++step) {
    SCOPED_TRACE(step);
    Bench bench(contestant(card), recipe(), kImages);
    for (Stack& stack : bench.ring.all) bench.unit->submit(&stack);
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_until(began + std::chrono::microseconds(500) * step);  // wait: any moment
    bench.unit->stop();
    // What waits for a silent card fails behind its patience and says so; the bound is for one that never ends.
    EXPECT_EQ(bench.unit->error(), "");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
    for (Stack& stack : bench.ring.all) {
      ASSERT_EQ(bench.unit->take(), &stack);
      for (const StackImage& image : stack.view()) {
        ASSERT_NE(image.decision, Decision::none);
        (image.decision == Decision::errored ? errored : decided) += 1;
        if (image.decision != Decision::errored) bench.expect_as_reference(image);
      }
    }
  }
  EXPECT_GT(errored, 0U);
  EXPECT_GT(decided, 0U);
  Bench after(contestant(card), recipe(), kImages);
  after.run_all();
  after.expect_all_as_references();
}

TEST_P(FpgaUnitOf, memory_that_refuses_makes_images_errored) {
  // Calibration of seven blocks takes 84 pages; behind them nothing answers.
  const UnitOfTest unit(100 * card::kCardPage);
  Bench bench(contestant(unit), recipe());
  for (Stack& stack : bench.ring.all) bench.unit->submit(&stack);
  for (Stack& stack : bench.ring.all) ASSERT_EQ(bench.wait(), &stack);
  for (const Stack& stack : bench.ring.all) {
    for (const StackImage& image : stack.view()) EXPECT_EQ(image.decision, Decision::errored);
  }
  EXPECT_THAT(bench.unit->error(), testing::HasSubstr("card memory answered"));
}

}  // namespace
}  // namespace rashpa::unit
