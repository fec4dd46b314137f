// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/step_passes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/unit/opencl/parts_testing.hpp"

namespace rashpa::unit::opencl {
namespace {

using kernel::Port;
using testing::RecordingPass;
using Where = kernel::opencl::DevicePass::Where;

/// A kernel that decides, or not, at a place of its own.
class PlacedStep final : public kernel::Step {
 public:
  PlacedStep(std::optional<Where> where, std::optional<Port::Kind> decides) : where_(where) {
    if (decides) declaration_.makes.push_back({.kind = *decides});
  }
  [[nodiscard]] const kernel::Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] kernel::PixelFormat fit(const kernel::Shape& /*shape*/, kernel::PixelFormat in) const override {
    return in;
  }
  [[nodiscard]] std::unique_ptr<kernel::CpuPass> on_cpu(const kernel::Setup& /*setup*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const kernel::Setup& /*setup*/, const memory::opencl::Device& /*device*/) const override {
    if (!where_) return nullptr;
    auto pass = std::make_unique<RecordingPass>(*where_);
    made = pass.get();
    return pass;
  }
  mutable RecordingPass* made = nullptr;

 private:
  std::optional<Where> where_;
  kernel::Declaration declaration_{.name = "placed", .purpose = "to be somewhere"};
};

class StepPassesTest : public testing::OnDevice {
 protected:
  StepPasses passes_of(std::vector<std::shared_ptr<PlacedStep>> kernels) {
    placed = std::move(kernels);
    steps.steps.clear();
    for (const auto& one : placed) {
      PlannedStep step{.step = std::shared_ptr<const kernel::Step>(one)};
      step.in_shape = step.out_shape = {16, 4};
      step.makes_list = one->declaration().made(Port::Kind::list) != nullptr;
      steps.steps.push_back(std::move(step));
    }
    return StepPasses(*device, steps, testing::small_layout(), 2);
  }
  static std::shared_ptr<PlacedStep> at(Where where, std::optional<Port::Kind> decides = {}) {
    return std::make_shared<PlacedStep>(where, decides);
  }
  /// First and last step of each leg.
  static std::vector<std::pair<std::size_t, std::size_t>> legs(const StepPasses& passes) {
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (const Leg& leg : passes.legs()) all.emplace_back(leg.first, leg.last);
    return all;
  }
  std::vector<std::shared_ptr<PlacedStep>> placed;
  Steps steps;
};

using Legs = std::vector<std::pair<std::size_t, std::size_t>>;

TEST_F(StepPassesTest, a_leg_ends_where_the_host_has_decided_and_the_device_goes_on) {
  EXPECT_EQ(legs(passes_of({at(Where::device), at(Where::device, Port::Kind::verdict), at(Where::device)})),
            (Legs{{0, 3}}));
  EXPECT_EQ(legs(passes_of({at(Where::host, Port::Kind::verdict), at(Where::device)})), (Legs{{0, 1}, {1, 2}}));
  EXPECT_EQ(legs(passes_of({at(Where::host), at(Where::device)})), (Legs{{0, 2}})) << "it decides nothing";
  EXPECT_EQ(legs(passes_of({at(Where::device, Port::Kind::verdict), at(Where::both)})), (Legs{{0, 1}, {1, 2}}))
      << "the host is not brought what the device has refused";
  EXPECT_EQ(legs(passes_of({at(Where::both, Port::Kind::table), at(Where::host)})), (Legs{{0, 2}}));
}

TEST_F(StepPassesTest, asks_each_pass_for_its_own_part) {
  const StepPasses passes = passes_of({at(Where::device, Port::Kind::list), at(Where::both), at(Where::host)});
  EXPECT_EQ(passes.lister(), 0U);
  for (std::uint32_t step = 0; step < 3; ++step) {
    kernel::opencl::DeviceStack seen{};
    seen.step = step;
    EXPECT_EQ(passes.enqueue(seen, 0, queue.get()), CL_SUCCESS);
    EXPECT_EQ(passes.fetch(seen, 0, queue.get()), CL_SUCCESS);
  }
  EXPECT_EQ(placed[0]->made->enqueued, 1);
  EXPECT_EQ(placed[0]->made->fetched, 0);
  EXPECT_EQ(placed[1]->made->enqueued, 1);
  EXPECT_EQ(placed[1]->made->fetched, 1);
  EXPECT_EQ(placed[2]->made->enqueued, 0);
  EXPECT_EQ(placed[2]->made->fetched, 0);
}

TEST_F(StepPassesTest, lists_of_the_host_are_not_the_devices) {
  EXPECT_EQ(passes_of({at(Where::host, Port::Kind::list)}).lister(), 1U);
}

TEST_F(StepPassesTest, says_what_its_passes_say) {
  const StepPasses passes = passes_of({at(Where::device), at(Where::host)});
  EXPECT_EQ(passes.failure(0), "");
  EXPECT_EQ(passes.failure(2), "it failed");
  EXPECT_EQ(passes.failure(3), "");
  EXPECT_EQ(passes.notice(), "");
  placed[1]->made->says = "look here";
  EXPECT_EQ(passes.notice(), "look here");
}

TEST_F(StepPassesTest, refuses_a_kernel_that_makes_nothing) {
  EXPECT_THROW(passes_of({std::make_shared<PlacedStep>(std::nullopt, std::nullopt)}), ConfigError);
}

}  // namespace
}  // namespace rashpa::unit::opencl
