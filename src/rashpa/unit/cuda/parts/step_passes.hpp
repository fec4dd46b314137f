// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

using kernel::cuda::DeviceFinding;

/// The kernels of a pipeline on a CUDA device: a pass for each step that needs one, and the steps that run for one
/// stack at a time. It owns no images and never waits. One thread, except for failure() and notice().
class StepPasses {
 public:
  /// Makes the passes on the current device. Throws ConfigError when a kernel has no version for CUDA.
  StepPasses(const Steps& steps, const Layout& layout, std::uint32_t benches);

  /// Returns the pass of a step; null when an earlier pass does its work.
  [[nodiscard]] kernel::cuda::DevicePass* pass(std::size_t step) const noexcept { return passes_[step].get(); }
  /// Returns the step that makes lists; the number of steps: none does.
  [[nodiscard]] std::size_t lister() const noexcept { return lister_; }
  /// Returns true when some steps run for one stack at a time. The next two functions return the first and the last of
  /// them.
  [[nodiscard]] bool take_turns() const noexcept { return first_in_turn_.has_value(); }
  [[nodiscard]] bool begins_turn(std::size_t step) const noexcept { return first_in_turn_ == step; }
  [[nodiscard]] bool ends_turn(std::size_t step) const noexcept { return take_turns() && last_in_turn_ == step; }

  /// Prepares all steps for an image, before its stack is submitted.
  void prepare(std::uint32_t place, const StackImage& image) const noexcept {
    for (auto* const pass : preparing_) pass->prepare(place, image);
  }
  /// Returns true when step `step` and all earlier steps have kept the image.
  [[nodiscard]] bool got_past(std::size_t step, const DeviceFinding& finding) const noexcept {
    return (finding.verdict == 0 || finding.step > step) && (finding.failed == 0 || finding.failed > step + 1) &&
           (finding.entries != kernel::cuda::kListOverflow || lister_ > step);
  }

  /// Returns the remarks of steps on how they work.
  [[nodiscard]] std::vector<std::string> words() const;
  /// Returns what Unit::failure() or Noticing::notice() returns. Any thread.
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const;
  [[nodiscard]] std::string notice() const;

 private:
  std::vector<std::unique_ptr<kernel::cuda::DevicePass>> passes_;  // by step; null: it rides
  std::vector<kernel::cuda::Preparing*> preparing_;                // those of them that prepare images
  std::size_t lister_;
  std::optional<std::size_t> first_in_turn_;
  std::size_t last_in_turn_ = 0;
};

}  // namespace rashpa::unit::cuda
