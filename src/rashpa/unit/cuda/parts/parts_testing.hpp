// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For tests of this folder's parts: steps that no kernel does.
#include <cstdint>
#include <string>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda::testing {

/// Images of 16 × 4 pixels, three a stack, two stacks.
inline Layout small_layout() {
  return {.width = 16, .height = 4, .input = PixelType::u16, .stack = 3, .stacks = 2, .image_stride = 256};
}

/// Two steps: the first makes pixels of 32 bits, the second makes none. Their kernel never runs.
inline Steps two_steps() {
  const PlannedStep step{.step = kernel::total_counts::step_of({}), .out_shape = {16, 4}};
  Steps steps;
  steps.steps = {step, step};
  steps.steps[0].makes_pixels = true;
  steps.steps[0].out.type = PixelType::i32;
  steps.last_maker = 0;
  steps.output.width = 16;
  steps.output.height = 4;
  steps.output.pixel = PixelType::i32;
  return steps;
}

/// A pass that does nothing.
class IdlePass : public kernel::cuda::DevicePass {
 public:
  int enqueue(const kernel::cuda::DeviceStack& /*stack*/, std::uint32_t /*bench*/,
              CUstream_st* /*stream*/) const noexcept override {
    return 0;
  }
  [[nodiscard]] std::string failure() const override { return "it failed"; }
  [[nodiscard]] std::string words() const override { return "idle"; }
  [[nodiscard]] std::string notice() const override { return says; }
  [[nodiscard]] bool in_turn() const override { return turns; }
  std::string says;
  bool turns = false;
};

}  // namespace rashpa::unit::cuda::testing
