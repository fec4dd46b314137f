// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/dealt/sharing.hpp"

#include <fmt/format.h>

#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit {

Sharing sharing_of(const Pipeline& pipeline, const Layout& layout) {
  Steps steps = steps_of(pipeline, layout);
  Sharing sharing{.part = pipeline, .output = std::move(steps.output), .joins = {}};
  for (std::size_t number = 0; number < steps.steps.size(); ++number) {
    const PlannedStep& step = steps.steps[number];
    const std::string& name = step.step->declaration().name;
    if (step.step->learns_from_darks()) {
      throw ConfigError(fmt::format(
          "unit: the kernel {} learns from images, which several devices cannot do together; name one", name));
    }
    if (!step.accumulation) continue;
    const auto* const joinable = dynamic_cast<const kernel::Joinable*>(&*step.step);
    if (joinable == nullptr) {
      throw ConfigError(fmt::format(
          "unit: the kernel {} adds up over images, which it cannot do on several devices together; name one", name));
    }
    sharing.joins.push_back(joinable->join(step.in_shape, step.in));
    sharing.part.kernels[number] = sharing.joins.back()->part();
  }
  return sharing;
}

}  // namespace rashpa::unit
