// SPDX-License-Identifier: Apache-2.0
/// Limits of vetoes that change while stacks are in flight: every image is decided by the limits of its stack, as unit
/// cpu decides it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/azimuthal/testing.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/unit/contract/bench.hpp"

namespace rashpa::unit {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests

namespace {

namespace totals = kernel::total_counts;

constexpr std::uint32_t kStack = 3, kStacks = 4, kRun = 24;  // images, slots, stacks

/// Other limits for a step, and the number of submitted stacks after which they are set.
struct Order {
  std::uint32_t behind;
  std::size_t step;
  kernel::StepOf with;
};

struct Told {
  std::vector<Decision> decisions{};
  std::vector<VetoReason> reasons{};
  std::vector<std::array<Scalar, kMostColumns>> scalars{};
  std::vector<std::uint64_t> first{};  ///< by order: the first stack with it
};

class Run {
 public:
  Run(const Contestant& who, const Recipe& images, Pipeline pipeline) : bench_(who, images, kStack, kStacks) {
    bench_.unit.reset();  // it has the images' memory
    unit_ = make_unit(who.choice, pipeline, bench_.ring.layout, bell_);
  }
  /// `first`: the stacks from which on limits change, of the unit that has been asked before; nothing: as they come.
  Told go(const std::vector<Order>& orders, const std::vector<std::uint64_t>& first = {}) {
    Told told;
    std::uint32_t submitted = 0;
    for (std::uint32_t taken = 0; taken < kRun; ++taken) {
      for (; submitted < kRun && submitted < taken + kStacks; ++submitted) {
        for (std::size_t order = 0; order < orders.size(); ++order) {
          const std::uint64_t behind = first.empty() ? orders[order].behind : first[order];
          if (behind != submitted) continue;
          // Nothing may be under way in a unit that is to change its limits at a given stack.
          if (!first.empty()) {
            EXPECT_EQ(taken, submitted);
          }
          told.first.push_back(adjust(*unit_, orders[order].step, orders[order].with));
        }
        Stack& stack = bench_.ring.all[submitted % kStacks];
        stack.number = submitted;
        unit_->submit(&stack);
        if (!first.empty()) {
          ++submitted;
          break;
        }
      }
      Stack* back = nullptr;
      const std::int64_t until = now_ns() + 60'000'000'000;
      while ((back = unit_->take()) == nullptr && now_ns() < until) {
        bell_.wait(bell_.count(), std::chrono::milliseconds(1));
      }
      if (back == nullptr) throw StateError("unit: a stack has not come back; look into its error");
      for (const StackImage& image : back->view()) {
        told.decisions.push_back(image.decision);
        told.reasons.push_back(image.reason);
        told.scalars.push_back(image.scalars);
      }
    }
    EXPECT_EQ(unit_->error(), "");
    return told;
  }

 private:
  Bench bench_;
  Doorbell bell_;
  std::unique_ptr<Unit> unit_;
};

bool all_near(const std::vector<std::array<Scalar, kMostColumns>>& told,
              const std::vector<std::array<Scalar, kMostColumns>>& truth, double relative) {
  return std::equal(told.begin(), told.end(), truth.begin(), truth.end(), [&](const auto& one, const auto& other) {
    return std::equal(one.begin(), one.end(), other.begin(), [&](const Scalar& a, const Scalar& b) {
      return a == b || (relative > 0 && std::abs(a.real() - b.real()) <= relative * std::abs(b.real()));
    });
  });
}

/// The unit changes limits while stacks are in flight; unit cpu changes them at the stacks that the unit has named.
/// `relative`: of columns that are real numbers, which units add up in an order of their own.
void expect_as_cpu(const Contestant& who, const Recipe& images, const Pipeline& pipeline,
                   const std::vector<Order>& orders, double relative = 0) {
  std::optional<Run> run;
  try {
    run.emplace(who, images, pipeline);
  } catch (const ConfigError& error) {
    EXPECT_TRUE(who.resident || who.choice.share == Share::rows) << error.what();
    return;  // the unit does not take the pipeline
  }
  const Told told = run->go(orders);
  ASSERT_EQ(told.first.size(), orders.size());
  for (std::size_t order = 0; order < orders.size(); ++order) {
    // None that was submitted later has limits of before; those that wait to begin may have the new ones.
    EXPECT_LE(told.first[order], orders[order].behind);
    EXPECT_GE(told.first[order] + kStacks, orders[order].behind);
  }
  const Told truth = Run({.name = "cpu"}, images, pipeline).go(orders, told.first);
  EXPECT_EQ(truth.first, told.first);
  EXPECT_TRUE(told.decisions == truth.decisions);
  EXPECT_TRUE(told.reasons == truth.reasons);
  EXPECT_TRUE(all_near(told.scalars, truth.scalars, relative));
  // The changes are seen: with the limits of the start, other images are kept.
  const Told without = Run({.name = "cpu"}, images, pipeline).go({});
  EXPECT_FALSE(without.decisions == truth.decisions);
}

}  // namespace

TEST_P(UnitContract, counts_that_ride_get_other_limits_between_two_stacks) {
  const Recipe recipe = vetoing(1);
  std::vector<Order> orders;
  for (std::uint32_t order = 0; order < 8; ++order) {  // all, spots, all, …
    orders.push_back({2 + 2 * order, 1, bragg_count::Config{10, order % 2 == 0 ? 100U : 0U, 100'000}});
  }
  expect_as_cpu(GetParam(), recipe, recipe.pipeline(), orders);
}

TEST_P(UnitContract, counts_sums_and_rules_get_other_limits_between_two_stacks) {
  const Recipe images{.veto = bragg_count::Config{10, 0, 100'000}};
  const auto rule = [](const std::string& keep) { return kernel::veto::Config{keep, "dull"}; };
  const Pipeline pipeline{
      .kernels = {totals::Config{}, rule("total_counts >= 0"), bragg_count::Config{10, 0, 100'000}}};
  expect_as_cpu(GetParam(), images, pipeline,
                {{3, 1, rule("masked_in_total < 14 or total_counts > 5000")},
                 {5, 0, totals::Config{.min_counts = 4000}},
                 {8, 1, rule("total_counts >= 0 and not (masked_in_total + 1 < 3)")},
                 {8, 0, totals::Config{.max_counts = 6000, .max_masked = 0.0012}},
                 {13, 2, bragg_count::Config{10, 0, 20}},
                 {13, 0, totals::Config{}},
                 {17, 2, bragg_count::Config{10, 21, 100'000}},
                 {20, 1, rule("masked_in_total > 12")}});
}

TEST_P(UnitContract, rules_on_a_conversions_numbers_get_other_limits_between_two_stacks) {
  const Recipe recipe = vetoing(0);
  const auto rule = [](const std::string& keep) { return kernel::veto::Config{keep, "dull"}; };
  Pipeline pipeline = recipe.pipeline();
  pipeline.kernels.emplace_back(rule("bright_pixels < 1e6"));
  // Of the count and of the rule, at one border and at several.
  std::vector<Order> orders{{2, 1, bragg_count::Config{10, 0, 100}},
                            {2, 2, rule("bright_pixels > 3 or masked_pixels > 130")}};
  for (std::uint32_t behind = 4; behind < 14; ++behind) {
    const std::string least = std::to_string(behind % 3 * 180);
    orders.push_back({behind, 2, rule("not (bright_pixels + 0 * masked_pixels < " + least + ")")});
    if (behind % 2 == 0) orders.push_back({behind, 1, bragg_count::Config{10, behind % 4 == 0 ? 0U : 9U, 100'000}});
  }
  expect_as_cpu(GetParam(), recipe, pipeline, orders);
}

TEST_P(UnitContract, the_mean_of_a_ring_gets_other_limits_between_two_stacks) {
  namespace azimuthal = kernel::azimuthal;
  const Recipe images{.veto = bragg_count::Config{10, 0, 100'000}};
  const auto ring = [](double min_intensity, double max_intensity) {
    azimuthal::Config config = azimuthal::test_rings({kWidth, kHeight}, 20, azimuthal::Errors::poisson, false, false);
    config.ring_min = 2;
    config.ring_max = 15;
    config.min_intensity = min_intensity;
    config.max_intensity = max_intensity;
    return config;
  };
  // Without spots the mean is 0.2, with spots it is above 1.
  const kernel::StepOf step = ring(0, 0);
  const Pipeline pipeline{.kernels = {bragg_count::Config{10, 0, 100'000}, step}};
  const auto live = [&](double min_intensity, double max_intensity) {
    return step->with({{"poni", std::string("there.poni")},
                       {"ring_min", 2.0},
                       {"ring_max", 15.0},
                       {"min_intensity", min_intensity},
                       {"max_intensity", max_intensity}});
  };
  EXPECT_THROW(live(2, 1), ConfigError);
  std::vector<Order> orders{{3, 1, live(0.5, 0)}, {6, 1, ring(0, 0.5)}, {6, 0, bragg_count::Config{10, 0, 99'999}}};
  for (std::uint32_t order = 0; order < 6; ++order) {
    orders.push_back({8 + 2 * order, 1, order % 2 == 0 ? live(1.1, 0) : live(0.1, 1.1)});
  }
  expect_as_cpu(GetParam(), images, pipeline, orders, 1e-12);
}

TEST_P(UnitContract, limits_that_do_not_fit_are_refused_and_change_nothing) {
  const Recipe recipe = vetoing(100);
  std::optional<Bench> bench;
  bench.emplace(GetParam(), recipe);
  if (!bench->runs()) return;
  const auto refusal = [&](std::size_t step, const kernel::StepOf& with) -> std::string {
    try {
      adjust(*bench->unit, step, with);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal(2, bragg_count::Config{10, 1, 2}), "unit: there is no step 2; give one below 2");
  EXPECT_EQ(refusal(1, totals::Config{}),
            "unit: step 1 is bragg_count, and gets limits from total_counts; name the same kernel and reason");
  EXPECT_EQ(refusal(1, bragg_count::Config{11, 1, 2}),
            "unit: bragg_count: threshold: it is fixed from the start of a run on; change other limits");
  bench->run_all();
  bench->expect_all_as_references();
}

}  // namespace rashpa::unit
