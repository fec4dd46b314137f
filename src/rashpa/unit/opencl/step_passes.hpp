// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::opencl {

/// Steps that the device does without the host, and the host's work after them.
struct Leg {
  std::size_t first = 0;
  std::size_t last = 0;  ///< behind the last step
};

/// The kernels of a pipeline on an OpenCL device, compiled, with their legs: a leg ends where the host must decide
/// before the device continues. It owns no images and never waits. One thread, except for failure() and notice();
/// functions return the first error, a cl_int.
class StepPasses {
 public:
  /// Makes the passes. `steps` outlives them. Throws ConfigError when a kernel has no version for OpenCL, ResourceError
  /// when the device's compiler refuses one.
  StepPasses(const memory::opencl::Device& device, const Steps& steps, const Layout& layout, std::uint32_t benches);

  [[nodiscard]] const std::vector<Leg>& legs() const noexcept { return legs_; }
  /// Returns true when the step has a part on the host and one on the device.
  [[nodiscard]] bool on_host(std::size_t step) const noexcept {
    return passes_[step] != nullptr && passes_[step]->where() != kernel::opencl::DevicePass::Where::device;
  }
  [[nodiscard]] bool on_device(std::size_t step) const noexcept {
    return passes_[step] == nullptr || passes_[step]->where() != kernel::opencl::DevicePass::Where::host;
  }
  /// Returns the step that makes lists on the device; the number of steps: none does.
  [[nodiscard]] std::size_t lister() const noexcept { return lister_; }
  /// Returns the pass of a step; null when an earlier pass does its work.
  [[nodiscard]] kernel::opencl::DevicePass* pass(std::size_t step) const noexcept { return passes_[step].get(); }

  /// Enqueues the device's part of step `seen.step`.
  cl_int enqueue(const kernel::opencl::DeviceStack& seen, std::uint32_t bench, cl_command_queue queue) const noexcept;
  /// Enqueues copies of the data that the host needs for its part of the step, if it has one.
  cl_int fetch(const kernel::opencl::DeviceStack& seen, std::uint32_t bench, cl_command_queue queue) const noexcept;

  /// Returns whether the step's limits can change.
  [[nodiscard]] bool limited(std::size_t step) const noexcept {
    return settlements_[step] || limited_[step] != nullptr;
  }
  /// Sets new limits of step `step`, for which limited() is true, as kernel::Limited does.
  void adopt(std::size_t step, kernel::LimitBytes& limits) noexcept;

  /// Returns what Unit::failure() or Noticing::notice() returns. Any thread.
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const;
  [[nodiscard]] std::string notice() const;

 private:
  void make_legs(const Steps& steps);

  std::vector<std::unique_ptr<kernel::opencl::DevicePass>> passes_;         // by step; null: it rides
  std::vector<std::unique_ptr<kernel::opencl::SettleCounts>> settlements_;  // by step; null: it does not
  std::vector<kernel::Limited*> limited_;                                   // by step, of passes_; null: it is not
  std::size_t lister_;
  std::vector<Leg> legs_;
};

}  // namespace rashpa::unit::opencl
