// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/step_passes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/unit/cuda/parts/parts_testing.hpp"

namespace rashpa::unit::cuda {
namespace {

/// Remembers the places for which it was prepared.
class PreparedPass final : public testing::IdlePass, public kernel::cuda::Preparing {
 public:
  void prepare(std::uint32_t place, const StackImage& /*image*/) noexcept override { places.push_back(place); }
  std::vector<std::uint32_t> places;
};

enum class Makes : std::uint8_t { nothing, a_pass, a_pass_in_turn, one_that_is_prepared };

class MadeStep final : public kernel::Step {
 public:
  explicit MadeStep(Makes makes) : makes_(makes) {}
  [[nodiscard]] const kernel::Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] kernel::PixelFormat fit(const kernel::Shape& /*shape*/, kernel::PixelFormat in) const override {
    return in;
  }
  [[nodiscard]] std::unique_ptr<kernel::CpuPass> on_cpu(const kernel::Setup& /*setup*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const kernel::Setup& /*setup*/) const override {
    if (makes_ == Makes::nothing) return nullptr;
    if (makes_ == Makes::one_that_is_prepared) {
      auto pass = std::make_unique<PreparedPass>();
      prepared = pass.get();
      made = prepared;
      return pass;
    }
    auto pass = std::make_unique<testing::IdlePass>();
    pass->turns = makes_ == Makes::a_pass_in_turn;
    made = pass.get();
    return pass;
  }
  mutable testing::IdlePass* made = nullptr;
  mutable PreparedPass* prepared = nullptr;

 private:
  Makes makes_;
  kernel::Declaration declaration_{.name = "made", .purpose = "to be made"};
};

struct Made {
  explicit Made(const std::vector<Makes>& kinds) {
    for (const Makes kind : kinds) {
      kernels.push_back(std::make_shared<MadeStep>(kind));
      PlannedStep step{.step = std::shared_ptr<const kernel::Step>(kernels.back())};
      step.in_shape = step.out_shape = {16, 4};
      steps.steps.push_back(std::move(step));
    }
  }
  [[nodiscard]] StepPasses passes() const { return {steps, testing::small_layout(), 2}; }
  std::vector<std::shared_ptr<MadeStep>> kernels;
  Steps steps;
};

TEST(CudaStepPasses, make_one_for_each_step_but_those_that_ride) {
  Made made({Makes::a_pass, Makes::a_pass, Makes::a_pass});
  made.steps.steps[1].rides = kernel::CountTap{};
  made.steps.steps[2].makes_list = true;
  const StepPasses passes = made.passes();
  EXPECT_NE(passes.pass(0), nullptr);
  EXPECT_EQ(passes.pass(1), nullptr);
  EXPECT_EQ(passes.lister(), 2U);
  EXPECT_EQ(passes.words(), (std::vector<std::string>{"idle", "idle"}));
  EXPECT_FALSE(passes.take_turns());
  EXPECT_FALSE(passes.begins_turn(0));
  EXPECT_FALSE(passes.ends_turn(0));
}

TEST(CudaStepPasses, a_turn_lasts_from_the_first_step_that_takes_one_to_the_last) {
  const StepPasses passes =
      Made({Makes::a_pass, Makes::a_pass_in_turn, Makes::a_pass, Makes::a_pass_in_turn, Makes::a_pass}).passes();
  EXPECT_TRUE(passes.take_turns());
  for (std::size_t step = 0; step < 5; ++step) {
    EXPECT_EQ(passes.begins_turn(step), step == 1) << step;
    EXPECT_EQ(passes.ends_turn(step), step == 3) << step;
  }
}

TEST(CudaStepPasses, prepare_those_that_want_it) {
  const Made made({Makes::a_pass, Makes::one_that_is_prepared});
  const StepPasses passes = made.passes();
  passes.prepare(5, {});
  passes.prepare(7, {});
  EXPECT_EQ(made.kernels[1]->prepared->places, (std::vector<std::uint32_t>{5, 7}));
}

TEST(CudaStepPasses, an_image_has_got_past_the_steps_before_the_one_that_ended_it) {
  Made made({Makes::a_pass, Makes::a_pass, Makes::a_pass});
  made.steps.steps[2].makes_list = true;
  const StepPasses passes = made.passes();
  const auto past = [&](const DeviceFinding& finding) {
    std::string all;
    for (std::size_t step = 0; step < 3; ++step) all += passes.got_past(step, finding) ? '1' : '0';
    return all;
  };
  EXPECT_EQ(past({}), "111");
  EXPECT_EQ(past({.verdict = 1, .step = 1}), "100");
  EXPECT_EQ(past({.failed = 3}), "110");
  EXPECT_EQ(past({.entries = kernel::cuda::kListOverflow}), "110");
}

TEST(CudaStepPasses, say_what_their_passes_say) {
  const Made made({Makes::a_pass, Makes::a_pass});
  const StepPasses passes = made.passes();
  EXPECT_EQ(passes.failure(0), "");
  EXPECT_EQ(passes.failure(2), "it failed");
  EXPECT_EQ(passes.failure(3), "");
  EXPECT_EQ(passes.notice(), "");
  made.kernels[1]->made->says = "look here";
  EXPECT_EQ(passes.notice(), "look here");
}

TEST(CudaStepPasses, refuse_a_kernel_that_makes_nothing) {
  EXPECT_THROW(static_cast<void>(Made({Makes::nothing}).passes()), ConfigError);
}

}  // namespace
}  // namespace rashpa::unit::cuda
