// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/step_passes.hpp"

#include <fmt/format.h>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::unit::opencl {

StepPasses::StepPasses(const memory::opencl::Device& device, const Steps& steps, const Layout& layout,
                       std::uint32_t benches)
    : lister_(steps.steps.size()) {
  for (std::size_t number = 0; number < steps.steps.size(); ++number) {
    const PlannedStep& step = steps.steps[number];
    passes_.push_back(step.rides ? nullptr : step.step->on_opencl(steps.setup(number, layout, 1, benches), device));
    settlements_.push_back(step.rides ? std::make_unique<kernel::opencl::SettleCounts>(device, *step.rides) : nullptr);
    if (!step.rides && passes_.back() == nullptr) {
      throw ConfigError(fmt::format(
          "unit: the kernel {} declares unit opencl, and makes no pass for it; take opencl out of its units",
          step.step->declaration().name));
    }
    limited_.push_back(step.rides ? nullptr : able<kernel::Limited>(*passes_.back()));
    if (step.makes_list && !on_host(number)) lister_ = number;
  }
  make_legs(steps);
}

/// The device cannot go on where the host decides what goes on; and the host need not be brought what the device has
/// refused.
void StepPasses::make_legs(const Steps& steps) {
  legs_.push_back({});
  bool host_decides = false;
  bool device_decides = false;
  for (std::size_t number = 0; number < steps.steps.size(); ++number) {
    const kernel::Declaration& declaration = steps.steps[number].step->declaration();
    const bool host = on_host(number);
    if (on_device(number) && (host_decides || (host && device_decides))) {
      legs_.push_back({number, number});
      host_decides = device_decides = false;
    }
    const bool decides = declaration.made(kernel::Port::Kind::verdict) != nullptr ||
                         declaration.made(kernel::Port::Kind::list) != nullptr ||
                         declaration.made(kernel::Port::Kind::table) != nullptr;
    host_decides = host_decides || (host && decides);
    device_decides = device_decides || (!host && decides);
    legs_.back().last = number + 1;
  }
}

cl_int StepPasses::enqueue(const kernel::opencl::DeviceStack& seen, std::uint32_t bench,
                           cl_command_queue queue) const noexcept {
  if (!on_device(seen.step)) return CL_SUCCESS;
  if (passes_[seen.step] == nullptr) return settlements_[seen.step]->enqueue(seen, nullptr, 0, queue);
  return passes_[seen.step]->enqueue(seen, bench, queue);
}

cl_int StepPasses::fetch(const kernel::opencl::DeviceStack& seen, std::uint32_t bench,
                         cl_command_queue queue) const noexcept {
  return on_host(seen.step) && on_device(seen.step) ? passes_[seen.step]->fetch(seen, bench, queue) : CL_SUCCESS;
}

void StepPasses::adopt(std::size_t step, kernel::LimitBytes& limits) noexcept {
  if (settlements_[step] != nullptr) {
    settlements_[step]->adopt(limits);
  } else {
    limited_[step]->adopt(limits);
  }
}

std::string StepPasses::failure(std::uint8_t failed_in) const {
  if (failed_in == 0 || failed_in > passes_.size() || passes_[failed_in - 1U] == nullptr) return {};
  return passes_[failed_in - 1U]->failure();
}

std::string StepPasses::notice() const {
  for (const auto& pass : passes_) {
    if (pass == nullptr) continue;
    if (std::string text = pass->notice(); !text.empty()) return text;
  }
  return {};
}

}  // namespace rashpa::unit::opencl
