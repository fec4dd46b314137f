// SPDX-License-Identifier: Apache-2.0
// Unit fpga on a simulated card: the contract of all units, and what is its own.
#include "rashpa/unit/fpga/fpga_unit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "rashpa/core/error.hpp"
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
    EXPECT_THAT(error.what(), testing::HasSubstr("takes 64"));
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

TEST(FpgaUnitTest, a_card_that_stops_answering_makes_images_errored_and_the_unit_ends) {
  UnitOfTest unit;
  Bench bench(contestant(unit), vetoing());
  unit.held = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (Stack& stack : bench.ring.all) bench.unit->submit(&stack);
  for (Stack& stack : bench.ring.all) ASSERT_EQ(bench.wait(), &stack);
  for (const Stack& stack : bench.ring.all) {
    for (const StackImage& image : stack.view()) EXPECT_EQ(image.decision, Decision::errored);
  }
  EXPECT_THAT(bench.unit->error(), testing::HasSubstr("does it run?"));
  bench.unit->stop();
}

TEST(FpgaUnitTest, memory_that_refuses_makes_images_errored) {
  // Calibration of seven blocks takes 84 pages; behind them nothing answers.
  const UnitOfTest unit(100 * card::kCardPage);
  Bench bench(contestant(unit), vetoing());
  for (Stack& stack : bench.ring.all) bench.unit->submit(&stack);
  for (Stack& stack : bench.ring.all) ASSERT_EQ(bench.wait(), &stack);
  for (const Stack& stack : bench.ring.all) {
    for (const StackImage& image : stack.view()) EXPECT_EQ(image.decision, Decision::errored);
  }
  EXPECT_THAT(bench.unit->error(), testing::HasSubstr("card memory answered"));
}

}  // namespace
}  // namespace rashpa::unit
