// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cpu/cpu_unit.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/unit/unit_contract.hpp"

namespace rashpa::unit {
namespace {

INSTANTIATE_TEST_SUITE_P(Cpu, UnitContract,
                         testing::Values(Contestant{.name = "one_thread", .choice = {.cores = {1, -1}}},
                                         Contestant{.name = "two_threads", .choice = {.cores = {2, -1}}},
                                         Contestant{.name = "five_threads", .choice = {.cores = {5, -1}}}),
                         [](const auto& contestant) { return contestant.param.name; });

TEST(CpuUnit, empty_pipeline_hands_raw_images_through) {
  Doorbell bell;
  const auto unit = make_unit({}, {}, {8, 4, PixelType::u16, 2, 1}, bell);
  EXPECT_EQ(unit->output().pixel, PixelType::u16);
  std::vector<std::byte> raw(2 * 64);
  Stack stack;
  stack.count = 2;
  stack.images.resize(2);
  for (std::size_t i = 0; i < 2; ++i) stack.images[i].raw = raw.data() + i * 64;
  stack.images[0].completeness = Completeness::complete;
  stack.images[1].completeness = Completeness::missing;
  unit->submit(&stack);
  ASSERT_EQ(unit->take(), &stack);
  EXPECT_EQ(stack.images[0].decision, Decision::accepted);
  EXPECT_EQ(stack.images[0].pixels, stack.images[0].raw);
  EXPECT_EQ(stack.images[1].decision, Decision::none);
  EXPECT_EQ(stack.images[1].pixels, nullptr);
}

TEST(CpuUnit, impossible_numbers_of_threads_are_refused) {
  Doorbell bell;
  const Layout layout{8, 8, PixelType::u16, 1, 1};
  EXPECT_THROW(make_unit({.cores = {0, -1}}, {}, layout, bell), ConfigError);
  EXPECT_THROW(make_unit({.cores = {100'000, -1}}, {}, layout, bell), ConfigError);
}

TEST(CpuUnit, outputs_too_large_for_the_machine_are_refused) {
  Doorbell bell;
  const Layout layout{64, 64, PixelType::u16, 100'000, 10'000'000};
  const auto config = kernel::jungfrau::synthetic::config(64, 64, kernel::jungfrau::Output::photons, 1);
  EXPECT_THROW(make_unit({}, {{config}}, layout, bell), ResourceError);
}

}  // namespace
}  // namespace rashpa::unit
