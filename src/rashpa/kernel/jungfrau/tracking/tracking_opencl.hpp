// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pedestals that follow the detector, on OpenCL devices: the work of Tracker with the same bits. It runs in the order
/// of the compute queue, in which stacks come one after another on whatever bench.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"

namespace rashpa::kernel::jungfrau::opencl {

/// The memory and functions of a pass that follows pedestals, those of each set. The kernel that converts the pixels
/// also follows them, with variances(), followed(), inverse() and square_limit().
class DeviceTracker {
 public:
  /// Takes the memory. `sets` were prepared from `config`; `program` was made from source() and macros(). Throws as
  /// Tracker does, and ResourceError when the device has no memory.
  DeviceTracker(const Config& config, std::span<const Prepared> sets, const Setup& setup,
                const memory::opencl::Device& device, const memory::opencl::Program& program);
  static std::string_view source() noexcept;
  static std::string macros();

  /// Applies the changes of the previous stack, before the conversion of this one. `set_of`: the set of each image, a
  /// byte each; not read where there is one set for all cells.
  cl_int begin(const kernel::opencl::DeviceStack& stack, std::uint32_t bench, cl_mem set_of,
               cl_command_queue queue) const noexcept;
  /// Computes the drift after the last stack.
  cl_int look(cl_mem pedestals, cl_command_queue queue) const noexcept;
  cl_int fetch(std::uint32_t bench, cl_command_queue queue) const noexcept { return found_.fetch(bench, queue); }
  /// Returns the drift of a set, found by the stack at `bench`, once fetched.
  [[nodiscard]] Drift drift(std::uint32_t bench, std::size_t set) const noexcept;

  /// Returns the variances of all sets, one behind the other.
  [[nodiscard]] cl_mem variances() const noexcept { return variances_.get(); }
  [[nodiscard]] cl_mem followed() const noexcept { return followed_.get(); }
  [[nodiscard]] cl_float inverse() const noexcept { return inverse_; }
  [[nodiscard]] cl_float square_limit() const noexcept { return square_limit_; }

 private:
  struct Followed {
    memory::opencl::Memory state, bins, start, inverse_sigma;
  };
  bool by_cell_;
  cl_float inverse_;
  cl_float square_limit_;
  cl_uint where_empty_;  // 1: in the first image of a stack, 2: in every one
  cl_uint learned_only_;
  cl_uint between_looks_;
  cl_uint pixels_;
  std::uint32_t group_;
  memory::opencl::Kernel begin_, look_;
  cl_uint padded_;  // entries of a gain
  std::vector<Followed> sets_;
  memory::opencl::Memory followed_, variances_;
  kernel::opencl::Fetched darks_;  // a byte an image, on its way to the device
  kernel::opencl::Fetched found_;  // two floats for each set
};

}  // namespace rashpa::kernel::jungfrau::opencl
