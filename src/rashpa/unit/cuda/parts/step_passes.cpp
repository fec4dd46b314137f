// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/step_passes.hpp"

#include <fmt/core.h>

#include <utility>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::unit::cuda {

StepPasses::StepPasses(const Steps& steps, const Layout& layout, std::uint32_t benches) : lister_(steps.steps.size()) {
  for (std::size_t number = 0; number < steps.steps.size(); ++number) {
    const PlannedStep& step = steps.steps[number];
    if (step.makes_list) lister_ = number;
    passes_.push_back(step.rides ? nullptr : step.step->on_cuda(steps.setup(number, layout, 1, benches)));
    if (step.rides) continue;
    if (passes_.back() == nullptr) {
      throw ConfigError(
          fmt::format("unit: the kernel {} declares unit cuda, and makes no pass for it; take cuda out of its units",
                      step.step->declaration().name));
    }
    if (auto* const preparing = able<kernel::cuda::Preparing>(*passes_.back())) preparing_.push_back(preparing);
    if (!passes_.back()->in_turn()) continue;
    if (!first_in_turn_) first_in_turn_ = number;
    last_in_turn_ = number;
  }
}

std::vector<std::string> StepPasses::words() const {
  std::vector<std::string> all;
  for (const auto& pass : passes_) {
    if (pass == nullptr) continue;
    if (std::string one = pass->words(); !one.empty()) all.push_back(std::move(one));
  }
  return all;
}

std::string StepPasses::notice() const {
  for (const auto& pass : passes_) {
    if (pass == nullptr) continue;
    if (std::string text = pass->notice(); !text.empty()) return text;
  }
  return {};
}

std::string StepPasses::failure(std::uint8_t failed_in) const {
  if (failed_in == 0 || failed_in > passes_.size() || passes_[failed_in - 1U] == nullptr) return {};
  return passes_[failed_in - 1U]->failure();
}

}  // namespace rashpa::unit::cuda
