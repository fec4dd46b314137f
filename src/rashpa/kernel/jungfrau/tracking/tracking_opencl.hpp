// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pedestals that follow the detector, on OpenCL devices: the work of Tracker, in the order of the compute queue, in
/// which stacks come one after the other whatever bench they are at. The same bits as Tracker.
#include <cstdint>
#include <string>
#include <string_view>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"

namespace rashpa::kernel::jungfrau::opencl {

/// Memory and functions of a pass that follows; the pixels are followed by the kernel that has converted them, which is
/// given variances(), followed(), inverse() and square_limit().
class DeviceTracker {
 public:
  /// `program` is made from source() and macros(). Throws as Tracker does, ResourceError when the device has no memory.
  DeviceTracker(const Config& config, const Prepared& calibration, const Setup& setup,
                const memory::opencl::Device& device, const memory::opencl::Program& program);
  static std::string_view source() noexcept;
  static std::string macros();

  /// Settles the changes of the stack before, ahead of the conversion of this one.
  cl_int begin(const kernel::opencl::DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept;
  /// Computes the drift, behind the last stack.
  cl_int look(cl_mem pedestals, cl_command_queue queue) const noexcept;
  cl_int fetch(std::uint32_t bench, cl_command_queue queue) const noexcept { return found_.fetch(bench, queue); }
  /// The drift as the stack at `bench` has found it, once fetched.
  [[nodiscard]] Drift drift(std::uint32_t bench) const noexcept;

  [[nodiscard]] cl_mem variances() const noexcept { return variances_.get(); }
  [[nodiscard]] cl_mem followed() const noexcept { return followed_.get(); }
  [[nodiscard]] cl_float inverse() const noexcept { return inverse_; }
  [[nodiscard]] cl_float square_limit() const noexcept { return square_limit_; }

 private:
  cl_float inverse_;
  cl_float square_limit_;
  cl_uint where_empty_;
  cl_uint learned_only_;
  cl_uint between_looks_;
  cl_uint pixels_;
  std::uint32_t group_;
  memory::opencl::Kernel begin_, look_;
  memory::opencl::Memory state_, bins_, followed_;
  memory::opencl::Memory variances_, start_, inverse_sigma_;
  kernel::opencl::Fetched darks_;  // a byte an image, on its way to the device
  kernel::opencl::Fetched found_;  // two floats
};

}  // namespace rashpa::kernel::jungfrau::opencl
