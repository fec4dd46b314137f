// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A layout, and steps of no real kernel, for tests of the parts of units.
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::testing {

/// Returns a layout of two stacks of three images with 16 × 4 pixels.
inline Layout small_layout() {
  return {.width = 16, .height = 4, .input = PixelType::u16, .stack = 3, .stacks = 2, .image_stride = 256};
}

/// Returns two steps: the first makes pixels of 32 bits, the second makes none. Their kernel never runs.
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

}  // namespace rashpa::unit::testing
