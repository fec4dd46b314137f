// SPDX-License-Identifier: Apache-2.0
// What the simulation of the processing unit takes: whole acquisitions with it have to be part of every test run.
#include "unit_model.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "random_stack.hpp"
#include "rashpa/card/unit_card.hpp"

namespace rashpa::sim {
namespace {

constexpr std::uint32_t kImages = 10;
constexpr std::uint64_t kPixels = std::uint64_t{1} << 20U;
constexpr double kMostSeconds = 10;

/// The time of the processor, not of the clock: others may use it, too.
TEST(UnitModelTest, ten_images_of_1M_are_simulated_in_ten_seconds_of_one_core) {
  for (const std::int16_t lists : {std::int16_t{0}, std::int16_t{10}}) {
    SCOPED_TRACE(lists);
    RandomStack stack(kPixels, kImages, 100, 1, lists);
    const double began = processor_seconds();
    const auto cycles = static_cast<double>(stack.process());
    EXPECT_LT(processor_seconds() - began, kMostSeconds);
    EXPECT_TRUE(stack.right());
    constexpr double kBeats = static_cast<double>(kImages) * static_cast<double>(kPixels) / card::kUnitBeatPixels;
    EXPECT_GT(kBeats / cycles, 0.98);
  }
}

}  // namespace
}  // namespace rashpa::sim
