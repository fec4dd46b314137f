// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/unit/unit.hpp"
#include "rashpa/unit/windows.hpp"

namespace rashpa::unit::opencl {

/// The accumulation windows of steps on an OpenCL device or on the host beside it. It uses passes only as HostAdding or
/// DeviceAdding. One thread; functions return the first error, a cl_int.
class WindowSums {
 public:
  /// Registers that step `step` makes the next accumulation; `pass` outlives it. Throws ResourceError.
  void add(std::size_t step, const Accumulation& facts, const Layout& layout, kernel::opencl::DevicePass& pass);

  /// Returns true when any window ends with the stack of that number.
  [[nodiscard]] bool ends_with(std::uint64_t number) const noexcept;
  /// Enqueues the sums of a window that ends with the stack, after the step that makes accumulation `number`.
  cl_int conclude(std::size_t number, std::uint32_t bench, std::uint64_t stack, cl_command_queue queue) noexcept;
  /// Enqueues the sums of all accumulations, whether a window ends or not.
  cl_int conclude_all(std::uint32_t bench, cl_command_queue queue) noexcept;
  /// Accounts for a finished stack, in order, and fills Stack::accumulated. `kept(image, step)` returns true when all
  /// steps up to that one have kept the image. `started`: the device has begun it.
  template <typename Kept>
  void account(std::uint32_t bench, bool started, Stack& stack, const Kept& kept) noexcept {
    stack.accumulated = {};
    for (std::size_t a = 0; a < adders_.size(); ++a) {
      adders_[a].windows.open(stack);
      for (std::uint32_t i = 0; i < stack.count && started; ++i) {
        if (stack.images[i].measured && kept(i, adders_[a].step)) add_image(adders_[a], bench, stack, i);
      }
      if (adders_[a].windows.ends_with(stack.number)) stack.accumulated[a] = close(adders_[a], bench, started);
    }
  }
  /// Writes the windows that are open after all work has ended into `all`. Waits for the device.
  cl_int close_open(Accumulated& all, cl_command_queue queue) noexcept;

 private:
  /// A step that accumulates, with its pass as one of both kinds.
  struct Adder {
    std::size_t step;
    std::uint32_t stack;  // images
    Windows windows;
    kernel::opencl::HostAdding* on_host;
    kernel::opencl::DeviceAdding* on_device;
  };
  static void add_image(Adder& adder, std::uint32_t bench, const Stack& stack, std::uint32_t image) noexcept;
  static AccumulatedView close(Adder& adder, std::uint32_t bench, bool started) noexcept;

  std::vector<Adder> adders_;  // by accumulation
};

}  // namespace rashpa::unit::opencl
